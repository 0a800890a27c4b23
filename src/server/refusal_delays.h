/// RefusalDelays: how long the refusal of a wrong key is held.
///
/// The first kFree wrong keys of an address within a minute are refused at once; each further one
/// waits kStepSeconds longer, up to kMostSeconds. It depends on the number of refusals alone, so it
/// tells nothing of a key, and only refusals wait: a right key from the same address (a proxy's,
/// say) is served at once. What is kept is bounded: kMostAddresses, beside which all others count
/// as one, and kMostHeld refusals that wait. I/O thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace skald::server {

/// See above. Outlives its places.
class RefusalDelays {
 public:
  static constexpr double kFree = 10;
  static constexpr double kStepSeconds = 0.1;
  static constexpr double kMostSeconds = 1;
  static constexpr size_t kMostAddresses = 1024;
  static constexpr int64_t kMostHeld = 64;

  /// A refusal that waits, for as long as the object lives.
  class Place {
   public:
    explicit Place(int64_t& held) : held_(&held) { ++held; }
    ~Place() {
      if (held_ != nullptr) --*held_;
    }
    Place(Place&& other) noexcept : held_(other.held_) { other.held_ = nullptr; }
    Place& operator=(Place&&) = delete;

   private:
    int64_t* held_;
  };

  /// A wrong key came from `address`: for how many seconds its refusal is to be held.
  double Next(const std::string& address, double now);
  /// Nothing if too many wait: then the connection is to be closed without an answer.
  std::optional<Place> TryHold();

  size_t addresses() const { return refused_.size(); }
  int64_t held() const { return held_; }

 private:
  struct Refused {
    double count = 0;  // at `at`; kFree of them are forgotten each minute
    double at = 0;

    double CountAt(double now) const;
  };
  Refused& Of(const std::string& address, double now);

  std::unordered_map<std::string, Refused> refused_;
  Refused others_;  // of all addresses that refused_ has no place for
  int64_t held_ = 0;
};

}  // namespace skald::server
