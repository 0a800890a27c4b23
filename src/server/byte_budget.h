/// ByteBudget: the bytes that all clients together make the server hold: bodies that come, requests
/// that are prepared, answers that are not read yet.
///
/// Fair by payer (a key, or without keys an address): who asks for more may have as much as is left
/// free (Choudhury, Hahne 1998). One payer alone gets half, two a third each, and a newcomer always
/// finds room. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace skald::server {

/// See above. I/O thread only. Outlives its leases.
class ByteBudget {
 public:
  explicit ByteBudget(int64_t limit) : limit_(limit) {}

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_; }
  int64_t used_by(const std::string& payer) const {
    const auto found = by_payer_.find(payer);
    return found == by_payer_.end() ? 0 : found->second;
  }
  /// Whether this payer may hold so many bytes more.
  bool HasRoom(const std::string& payer, int64_t bytes) const {
    return used_by(payer) + bytes <= limit_ - used_ - bytes;
  }

 private:
  friend class ByteLease;
  void Add(const std::string& payer, int64_t bytes) {
    if (bytes == 0) return;
    used_ += bytes;
    const auto place = by_payer_.try_emplace(payer, 0).first;
    place->second += bytes;
    if (place->second == 0) by_payer_.erase(place);
  }

  int64_t limit_;
  int64_t used_ = 0;
  std::map<std::string, int64_t> by_payer_;  // those that hold something
};

/// What one connection holds of a budget; gives it back when it ends.
class ByteLease {
 public:
  ByteLease(ByteBudget& budget, std::string payer) : budget_(budget), payer_(std::move(payer)) {}
  ~ByteLease() { Force(0); }
  ByteLease(const ByteLease&) = delete;
  ByteLease& operator=(const ByteLease&) = delete;

  int64_t bytes() const { return bytes_; }
  const std::string& payer() const { return payer_; }
  /// Somebody else pays from now on.
  void ChargeTo(std::string payer) {
    const int64_t held = bytes_;
    Force(0);
    payer_ = std::move(payer);
    Force(held);
  }
  /// Holds so many bytes from now on. False, and as before, if there is no room for more.
  bool Resize(int64_t bytes) {
    if (bytes > bytes_ && !budget_.HasRoom(payer_, bytes - bytes_)) return false;
    Force(bytes);
    return true;
  }
  /// As Resize, room or not: for what is there already.
  void Force(int64_t bytes) { budget_.Add(payer_, bytes - std::exchange(bytes_, bytes)); }

 private:
  ByteBudget& budget_;
  std::string payer_;
  int64_t bytes_ = 0;
};

}  // namespace skald::server
