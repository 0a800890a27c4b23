#include "ranks/socket_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/spin.h"
#include "ranks/column_parts.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kMagic = 'S' | 'K' << 8 | 'F' << 16 | '1' << 24;

// Each look at a socket is a call of the system, some tenths of a microsecond: together longer than
// a message takes from one machine to the next, and than a rank is behind that is not held up.
constexpr int kLooks = 400;
// Nothing waits for this: a socket that is shut wakes who polls it.
constexpr int kMostWaitMilliseconds = 1000;

// Bytes that a call has moved; -1: none yet.
ssize_t Moved(ssize_t result, bool* gone) {
  if (result > 0) return result;
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return -1;
  *gone = true;
  return -1;
}

// Whether the columns stand in rows that are `stride` wide.
bool FitsRows(const Columns& columns) {
  const int64_t stride = columns.stride;
  for (const int64_t each : {columns.first, columns.count, columns.runs, columns.run_stride}) {
    if (each < 0 || each > stride) return false;  // so that no product below is too large
  }
  const int64_t last_run = (columns.runs - 1) * columns.run_stride;
  return columns.runs >= 1 && columns.runs * columns.count <= stride &&
         columns.first + last_run + columns.count <= stride;
}

}  // namespace

SocketLink::SocketLink(Sockets sockets, int rank)
    : sockets_(std::move(sockets)), rank_(rank), end_(this), beats_(sockets_.floats.size()) {
  for (int other = 0; other < count(); ++other) {
    if (other == rank_) continue;
    Peer& peer = peers_.emplace_back();
    peer.rank = other;
    peer.descriptor = sockets_.floats[static_cast<size_t>(other)].descriptor();
  }
}

void SocketLink::Break() {
  lost_.store(true, std::memory_order_release);
  // Every rank has a socket to each other one: all see it, and who polls wakes.
  for (const auto* sockets : {&sockets_.floats, &sockets_.pulses}) {
    for (const Socket& socket : *sockets) {
      if (socket.open()) socket.Shut();
    }
  }
}

void SocketLink::Beat() {
  const char beat = 1;
  // Who does not read them for long enough is stopped, and has beats enough to find.
  for (const Socket& socket : sockets_.pulses) {
    if (socket.open()) send(socket.descriptor(), &beat, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

uint32_t SocketLink::beats(int rank) {
  const Socket& socket = sockets_.pulses[static_cast<size_t>(rank)];
  uint32_t& beats = beats_[static_cast<size_t>(rank)];
  char bytes[256];
  while (socket.open()) {
    const ssize_t count = recv(socket.descriptor(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count <= 0) break;
    beats += static_cast<uint32_t>(count);
  }
  return beats;
}

void SocketLink::Begin(const Columns& own, Takers takers) {
  const Head head = {.magic = kMagic,
                     .round = round_++,
                     .row_count = own.row_count,
                     .first = own.first,
                     .count = own.count,
                     .runs = own.runs,
                     .run_stride = own.run_stride};
  const int64_t floats = FloatsOf(own);
  outgoing_bytes_ = sizeof(head) + static_cast<size_t>(floats) * sizeof(float);
  if (outgoing_.size() < outgoing_bytes_) outgoing_.resize(outgoing_bytes_);
  std::memcpy(outgoing_.data(), &head, sizeof(head));
  CopyOut(own, 0, floats, reinterpret_cast<float*>(outgoing_.data() + sizeof(head)));
  for (Peer& peer : peers_) {
    peer.sent = 0;
    peer.received = 0;
    peer.takes = takers == Takers::kAll || peer.rank == 0;
    peer.gives = takers == Takers::kAll || rank_ == 0;
  }
}

bool SocketLink::Send(Peer* peer) {
  bool gone = false;
  const std::span<const std::byte> left =
      std::span(outgoing_).first(outgoing_bytes_).subspan(peer->sent);
  const ssize_t count =
      Moved(send(peer->descriptor, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL), &gone);
  if (gone) Break();
  if (count < 0) return false;
  peer->sent += static_cast<size_t>(count);
  peer->takes = peer->sent < outgoing_bytes_;
  return true;
}

// The head, then as many floats as it says; these go to their places when all have come.
bool SocketLink::Receive(const Columns& own, Peer* peer) {
  const bool in_head = peer->received < sizeof(Head);
  const std::span<std::byte> whole =
      in_head ? std::as_writable_bytes(std::span(&peer->head, 1))
              : std::as_writable_bytes(std::span(peer->floats).first(peer->float_count));
  const std::span<std::byte> left =
      whole.subspan(in_head ? peer->received : peer->received - sizeof(Head));
  bool gone = false;
  const ssize_t count =
      Moved(recv(peer->descriptor, left.data(), left.size(), MSG_DONTWAIT), &gone);
  if (gone) Break();
  if (count < 0) return false;
  peer->received += static_cast<size_t>(count);
  if (static_cast<size_t>(count) < left.size()) return true;
  Columns place = own;
  place.first = peer->head.first;
  place.count = peer->head.count;
  place.runs = peer->head.runs;
  place.run_stride = peer->head.run_stride;
  if (in_head) {
    // Begin has counted this exchange already. Each rank counts its own: all make the same calls.
    if (peer->head.magic != kMagic || peer->head.round != round_ - 1 ||
        peer->head.row_count != own.row_count || !FitsRows(place)) {
      Break();
      return false;
    }
    peer->float_count = static_cast<size_t>(FloatsOf(place));
    if (peer->floats.size() < peer->float_count) peer->floats.resize(peer->float_count);
    if (peer->float_count > 0) return true;
  }
  CopyIn(peer->floats.data(), 0, FloatsOf(place), place);
  peer->gives = false;
  return true;
}

bool SocketLink::Move(const Columns& own, Peer* peer) {
  bool moved = false;
  while (!lost() && peer->takes && Send(peer)) moved = true;
  while (!lost() && peer->gives && Receive(own, peer)) moved = true;
  return moved;
}

bool SocketLink::Done() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [](const Peer& peer) { return peer.takes || peer.gives; });
}

void SocketLink::Wait() {
  std::vector<pollfd> polled;
  for (const Peer& peer : peers_) {
    const int events = (peer.takes ? POLLOUT : 0) | (peer.gives ? POLLIN : 0);
    if (events != 0) polled.push_back({peer.descriptor, static_cast<short>(events), 0});
  }
  poll(polled.data(), polled.size(), kMostWaitMilliseconds);
}

void SocketLink::Pass(const Columns& own, Takers takers) {
  if (lost()) return;
  Begin(own, takers);
  int looks = 0;
  while (!Done() && !lost()) {
    bool moved = false;
    for (Peer& peer : peers_) moved |= Move(own, &peer);
    looks = moved ? 0 : looks + 1;
    if (looks < kLooks) {
      Pause();
    } else {
      Wait();
    }
  }
}

}  // namespace skald::ranks
