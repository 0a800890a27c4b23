#include "ranks/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kMagic = 'S' | 'K' << 8 | 'R' << 16 | '1' << 24;

struct Head {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t length = 0;
};

// Memory that is taken on the word of the other side alone.
constexpr uint64_t kBelieved = uint64_t{1} << 20;

Status Gone() { return Status(ErrorCode::kUnavailable, "the other side is gone"); }

// Forgets the first `count` bytes of two parts.
void Advance(std::array<iovec, 2>* parts, size_t count) {
  for (iovec& part : *parts) {
    const size_t taken = std::min(count, part.iov_len);
    part.iov_base = static_cast<std::byte*>(part.iov_base) + taken;
    part.iov_len -= taken;
    count -= taken;
  }
}

}  // namespace

Status NoMessageOfARank() {
  return Status(ErrorCode::kInvalidArgument, "what came is no message of a rank");
}

Channel::Channel(Channel&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

Channel::~Channel() {
  if (socket_ >= 0) close(socket_);
}

// In one call where the socket has room: a step waits for it.
Status Channel::Send(uint32_t kind, std::span<const std::byte> bytes) {
  Head head = {.kind = kind, .length = bytes.size()};
  std::array<iovec, 2> parts = {iovec{&head, sizeof(head)},
                                iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
  size_t left = sizeof(head) + bytes.size();
  while (left > 0) {
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Gone();
    left -= static_cast<size_t>(sent);
    Advance(&parts, static_cast<size_t>(sent));
  }
  return Ok();
}

Status Channel::ReadAll(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Gone();
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Ok();
}

Status Channel::Receive(Message* message) {
  Head head;
  RETURN_IF_ERROR(ReadAll(std::as_writable_bytes(std::span(&head, 1))));
  if (head.magic != kMagic || head.length > kMostBytes) {
    return NoMessageOfARank();
  }
  message->kind = head.kind;
  message->bytes.clear();
  while (message->bytes.size() < head.length) {
    const size_t at = message->bytes.size();
    const uint64_t most = std::max<uint64_t>(kBelieved, at);
    message->bytes.resize(at + std::min(head.length - at, most));
    RETURN_IF_ERROR(ReadAll(std::span(message->bytes).subspan(at)));
  }
  return Ok();
}

void Channel::Shut() { shutdown(socket_, SHUT_RDWR); }

}  // namespace skald::ranks
