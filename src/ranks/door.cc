#include "ranks/door.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kMagic = 'S' | 'K' << 8 | 'D' << 16 | '1' << 24;
constexpr size_t kVisitBytes = 4 + 1 + 4 + Door::kNonceBytes;
constexpr size_t kReplyBytes = Door::kNonceBytes + Door::kProofBytes;

constexpr std::string_view kOfDoor = "door";
constexpr std::string_view kOfVisitor = "visitor";

// Of one who says nothing; a visitor answers in the time of a message.
constexpr double kStrangerSeconds = 5;
// Who has waited longest without a word goes first.
constexpr size_t kMostStrangers = 64;
// Between two looks at strangers: half a message is not waited for. Without any the listener wakes.
constexpr int kLookMilliseconds = 5;
constexpr int kIdleMilliseconds = 200;

using Nonce = std::array<std::byte, Door::kNonceBytes>;
using Proof = std::array<std::byte, Door::kProofBytes>;

Nonce NewNonce() {
  Nonce nonce;
  // So few bytes come whole (getrandom(2)).
  CHECK(getrandom(nonce.data(), nonce.size(), 0) == std::ssize(nonce));
  return nonce;
}

Proof Prove(const std::string& key, std::string_view side, std::span<const std::byte> said) {
  std::string all(side);
  all.append(reinterpret_cast<const char*>(said.data()), said.size());
  Proof proof;
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(all.data()), all.size(),
       reinterpret_cast<unsigned char*>(proof.data()), &length);
  CHECK(length == proof.size());
  return proof;
}

// In the same time whatever differs.
bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool ReadVisit(std::span<const std::byte> bytes, Visit* visit) {
  ByteReader reader(bytes);
  if (*reader.Read<uint32_t>() != kMagic) return false;
  const auto purpose = *reader.Read<uint8_t>();
  visit->purpose = static_cast<Purpose>(purpose);
  visit->rank = *reader.Read<int32_t>();
  return purpose >= 1 && purpose <= static_cast<uint8_t>(Purpose::kPulse);
}

// All of it or nothing; a socket that is new has room for so little.
bool SendAll(const Socket& socket, std::span<const std::byte> bytes) {
  return send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
}

bool ReceiveAll(const Socket& socket, std::span<std::byte> bytes) {
  return recv(socket.descriptor(), bytes.data(), bytes.size(), MSG_WAITALL) == std::ssize(bytes);
}

// So many bytes, if they have come. `gone`: they never will.
std::vector<std::byte> Take(const Socket& socket, size_t count, bool* gone) {
  std::vector<std::byte> bytes(count);
  const ssize_t there = recv(socket.descriptor(), bytes.data(), count, MSG_PEEK | MSG_DONTWAIT);
  *gone = there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR);
  if (there != static_cast<ssize_t>(count)) return {};
  recv(socket.descriptor(), bytes.data(), count, MSG_DONTWAIT);
  return bytes;
}

}  // namespace

void Door::Accept() {
  while (true) {
    Socket socket(accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.open()) return;
    if (strangers_.size() == kMostStrangers) strangers_.pop_front();
    PrepareTcp(socket.descriptor(), 0);
    strangers_.emplace_back(std::move(socket));
  }
}

void Door::Answer(Stranger* stranger, const std::vector<std::byte>& visit) const {
  if (!ReadVisit(visit, &stranger->visit)) {
    stranger->gone = true;
    return;
  }
  const Nonce nonce = NewNonce();
  ByteWriter said;
  said.Bytes(std::span(visit)).Bytes(std::span(nonce));
  stranger->said = said.bytes();
  ByteWriter reply;
  const Proof proof = Prove(key_, kOfDoor, stranger->said);
  reply.Bytes(std::span(nonce)).Bytes(std::span(proof));
  stranger->gone = !SendAll(stranger->socket, reply.bytes());
}

void Door::Listen(Stranger* stranger) const {
  const bool visits = stranger->said.empty();
  const std::vector<std::byte> bytes =
      Take(stranger->socket, visits ? kVisitBytes : kProofBytes, &stranger->gone);
  if (stranger->since.Seconds() > kStrangerSeconds) stranger->gone = true;
  if (bytes.empty() || stranger->gone) return;
  if (visits) return Answer(stranger, bytes);
  stranger->proven = Same(bytes, Prove(key_, kOfVisitor, stranger->said));
  stranger->gone = !stranger->proven;
}

Result<Guest> Door::Next(const Deadline& deadline) {
  fcntl(listener_.descriptor(), F_SETFL, O_NONBLOCK);
  while (true) {
    Accept();
    for (Stranger& stranger : strangers_) Listen(&stranger);
    const auto proven = std::find_if(strangers_.begin(), strangers_.end(),
                                     [](const Stranger& each) { return each.proven; });
    if (proven != strangers_.end()) {
      Guest guest = {.socket = std::move(proven->socket), .visit = proven->visit};
      strangers_.erase(proven);
      return guest;
    }
    std::erase_if(strangers_, [](const Stranger& each) { return each.gone; });
    if (deadline.HasPassed()) return Status(ErrorCode::kUnavailable, "nobody came");
    pollfd polled = {.fd = listener_.descriptor(), .events = POLLIN, .revents = 0};
    poll(&polled, 1, strangers_.empty() ? kIdleMilliseconds : kLookMilliseconds);
  }
}

Result<Socket> Enter(const Address& address, const Visit& visit, const std::string& key,
                     const Deadline& deadline) {
  ASSIGN_OR_RETURN(Socket socket, ConnectTo(address, deadline));
  PrepareTcp(socket.descriptor(), std::max(deadline.Left(), 1.0));
  ByteWriter said;
  const Nonce own_nonce = NewNonce();
  said.Put(kMagic).Put(static_cast<uint8_t>(visit.purpose)).Put(visit.rank);
  said.Bytes(std::span(own_nonce));
  std::array<std::byte, kReplyBytes> reply;
  if (!SendAll(socket, said.bytes()) || !ReceiveAll(socket, reply)) {
    return Status(ErrorCode::kUnavailable, address.Text() + ": whoever is there does not answer");
  }
  const auto nonce = std::span(reply).first(Door::kNonceBytes);
  said.Bytes(std::span<const std::byte>(nonce));
  if (!Same(std::span(reply).last(Door::kProofBytes), Prove(key, kOfDoor, said.bytes()))) {
    return Status(ErrorCode::kInvalidArgument,
                  address.Text() + ": whoever is there has another key");
  }
  if (!SendAll(socket, Prove(key, kOfVisitor, said.bytes()))) {
    return Status(ErrorCode::kUnavailable, address.Text() + ": whoever is there has gone");
  }
  PrepareTcp(socket.descriptor(), 0);
  return socket;
}

}  // namespace skald::ranks
