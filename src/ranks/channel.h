/// Channel: messages between two ranks, over a stream socket.
///
///     magic "SKR1" | kind, uint32 | length, uint64 | so many bytes          all little-endian
///
/// What a message means its kind says to those who know (ranks/group.h has the kinds of its own);
/// here it is bytes. Nothing that the other side says is believed: a length has a bound, and memory
/// for a message grows as its bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/status.h"

namespace skald::ranks {

/// What came.
struct Message {
  uint32_t kind = 0;
  std::vector<std::byte> bytes;
};

/// What came is none, or not the one that was to come.
Status NoMessageOfARank();

/// One end. One thread at a time sends and one receives; Shut may be called by any other.
class Channel {
 public:
  /// Longest message: a page of the widest model is some tens of MB.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  /// Takes a connected stream socket, and closes it in the end.
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;

  int socket() const { return socket_; }

  /// Returns when the system has taken all. Errors: kUnavailable, the other side is gone.
  Status Send(uint32_t kind, std::span<const std::byte> bytes);

  /// Waits for the next message, into the memory of `message`. Errors: kUnavailable, the other side
  /// is gone; kInvalidArgument, what came is no message.
  Status Receive(Message* message);

  /// Ends what Send and Receive wait for, here and on the other side.
  void Shut();

 private:
  Status ReadAll(std::span<std::byte> bytes);

  int socket_;
};

}  // namespace skald::ranks
