/// Door: lets those into a group who know its key, and nobody else.
///
///     visitor                                     door
///     magic, purpose, rank, nonce           ->
///                                           <-    nonce, HMAC-SHA256(key, "door", both)
///     HMAC-SHA256(key, "visitor", both)     ->
///
/// Each side proves that it knows the key, over the numbers of both, so nothing that was heard once
/// is of use again; and the visitor learns it first, for it will compute what it is told. What goes
/// through the sockets afterwards is neither secret nor proven: who can alter what the network
/// carries can alter answers (SECURITY.md).
///
/// All lengths are fixed, and nobody waits for a visitor who says nothing: it has some seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/stopwatch.h"
#include "ranks/socket.h"
#include "skald/status.h"

namespace skald::ranks {

/// What a socket is for.
enum class Purpose : uint8_t { kOrders = 1, kFloats, kPulse };

/// Who comes, in its own words.
struct Visit {
  Purpose purpose = Purpose::kOrders;
  int32_t rank = 0;  ///< of who comes; 0: it has none yet
};

struct Guest {
  Socket socket;
  Visit visit;
};

class Door {
 public:
  static constexpr size_t kNonceBytes = 32;
  static constexpr size_t kProofBytes = 32;

  /// `key`: any bytes; the more the better.
  Door(Socket listener, std::string key) : listener_(std::move(listener)), key_(std::move(key)) {}

  /// Waits for the next who knows the key. Errors: kUnavailable, nobody came in time.
  Result<Guest> Next(const Deadline& deadline);

 private:
  // One who has come and not proven anything yet.
  struct Stranger {
    explicit Stranger(Socket its_socket) : socket(std::move(its_socket)) {}

    Socket socket;
    Stopwatch since;
    std::vector<std::byte> said;  // the visit and both nonces, once it has said the first
    Visit visit;
    bool gone = false;
    bool proven = false;
  };

  void Accept();
  void Listen(Stranger* stranger) const;
  void Answer(Stranger* stranger, const std::vector<std::byte>& visit) const;

  Socket listener_;
  std::string key_;
  std::deque<Stranger> strangers_;
};

/// Goes through the door at `address`. Errors: kUnavailable, nobody is there;
/// kInvalidArgument, the key is another one.
Result<Socket> Enter(const Address& address, const Visit& visit, const std::string& key,
                     const Deadline& deadline);

}  // namespace skald::ranks
