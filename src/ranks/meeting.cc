#include "ranks/meeting.h"

#include <algorithm>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "base/deadline.h"
#include "base/status_macros.h"
#include "ranks/door.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kListens = 1;      // at which port who has come can be reached
constexpr uint32_t kRoster = 2;       // which rank it is, and where those before it listen
constexpr int32_t kMostRanks = 1024;  // more than any model has heads
constexpr uint64_t kMostHost = 1024;

// Of one who has proven to be no stranger, and so only of one that fails.
constexpr double kWordSeconds = 5;

// What the first rank tells each other one.
struct Roster {
  int32_t rank = 0;
  int32_t count = 0;
  std::vector<Address> before;  // of ranks 1 to rank - 1
};

std::vector<std::byte> BytesOf(const Roster& roster) {
  ByteWriter writer;
  writer.Put(roster.rank).Put(roster.count);
  for (const Address& address : roster.before) writer.String(address.host).Put(address.port);
  return writer.bytes();
}

Result<Roster> ReadRoster(const Message& message) {
  ByteReader reader(message.bytes);
  const auto rank = reader.Read<int32_t>();
  const auto count = reader.Read<int32_t>();
  if (message.kind != kRoster || !count || *count > kMostRanks || *rank < 1 || *rank >= *count) {
    return NoMessageOfARank();
  }
  Roster roster = {.rank = *rank, .count = *count, .before = {}};
  for (int32_t other = 1; other < *rank; ++other) {
    const auto host = reader.ReadString(kMostHost);
    const auto port = reader.Read<uint16_t>();
    if (!host || !port) return NoMessageOfARank();
    roster.before.push_back({.host = std::string(*host), .port = *port});
  }
  return roster;
}

// Puts a guest to its place; nothing happens where that has one, or is none.
bool Seat(Guest guest, int first_rank, SocketLink::Sockets* sockets) {
  const bool beats = guest.visit.purpose == Purpose::kPulse;
  if (!beats && guest.visit.purpose != Purpose::kFloats) return false;
  std::vector<Socket>& places = beats ? sockets->pulses : sockets->floats;
  const int rank = guest.visit.rank;
  if (rank < first_rank || rank >= static_cast<int>(places.size())) return false;
  Socket& place = places[static_cast<size_t>(rank)];
  if (place.open()) return false;
  place = std::move(guest.socket);
  return true;
}

// Where a guest can be reached: from where it has come, at the port that it says.
Result<Address> HearAddress(Channel* channel) {
  PrepareTcp(channel->socket(), kWordSeconds);
  Message message;
  RETURN_IF_ERROR(channel->Receive(&message));
  PrepareTcp(channel->socket(), 0);
  ByteReader reader(message.bytes);
  const auto port = reader.Read<uint16_t>();
  if (message.kind != kListens || !port) return NoMessageOfARank();
  return Address{.host = OtherAddress(channel->socket()).host, .port = *port};
}

// Waits for so many guests.
Status SeatAll(Door* door, int guests, int first_rank, const Deadline& deadline,
               SocketLink::Sockets* sockets) {
  while (guests > 0) {
    Result<Guest> guest = door->Next(deadline);
    if (!guest.ok()) {
      return Status(ErrorCode::kUnavailable,
                    std::to_string(guests) + " connections of other ranks do not come");
    }
    if (Seat(*std::move(guest), first_rank, sockets)) --guests;
  }
  return Ok();
}

// Who comes for orders, until there are so many ranks, to `channels`; where each can be reached.
Result<std::vector<Address>> HearAll(Door* door, int count, const Deadline& deadline,
                                     FunctionRef<void(int here)> came,
                                     std::vector<Channel>* channels) {
  std::vector<Address> addresses;
  while (std::ssize(*channels) + 1 < count) {
    const auto here = std::ssize(*channels) + 1;
    Result<Guest> guest = door->Next(deadline);
    if (!guest.ok()) {
      return Status(ErrorCode::kUnavailable, std::to_string(here) + " of " + std::to_string(count) +
                                                 " ranks are here, and nobody comes any more");
    }
    if (guest->visit.purpose != Purpose::kOrders) continue;
    Channel channel(guest->socket.Release());
    Result<Address> address = HearAddress(&channel);
    // It failed while it came in; perhaps it is started anew.
    if (!address.ok()) continue;
    addresses.push_back(*std::move(address));
    channels->push_back(std::move(channel));
    came(static_cast<int>(here) + 1);
  }
  return addresses;
}

// The first rank has until then to say who this is.
Result<Roster> AskRoster(const Address& first, uint16_t port, const Deadline& deadline,
                         Channel* channel) {
  PrepareTcp(channel->socket(), std::max(deadline.Left(), 1.0));
  ByteWriter listens;
  listens.Put(port);
  RETURN_IF_ERROR(channel->Send(kListens, listens.bytes()));
  Message message;
  if (!channel->Receive(&message).ok()) {
    return Status(ErrorCode::kUnavailable,
                  first.Text() + ": the other ranks do not come, or the group is complete");
  }
  PrepareTcp(channel->socket(), 0);
  return ReadRoster(message);
}

}  // namespace

Result<Met> Host(Socket listener, int count, const Invitation& invitation,
                 FunctionRef<void(int here)> came) {
  CHECK(count >= 1);
  const Deadline deadline(invitation.patience_seconds);
  Door door(std::move(listener), invitation.key);
  Met met;
  ASSIGN_OR_RETURN(const std::vector<Address> addresses,
                   HearAll(&door, count, deadline, came, &met.channels));
  for (int32_t rank = 1; rank < count; ++rank) {
    const Roster roster = {
        .rank = rank, .count = count, .before = {addresses.begin(), addresses.begin() + rank - 1}};
    RETURN_IF_ERROR(met.channels[static_cast<size_t>(rank) - 1].Send(kRoster, BytesOf(roster)));
  }
  SocketLink::Sockets sockets(count);
  // Each other one brings a socket for floats and one for its pulse.
  RETURN_IF_ERROR(SeatAll(&door, 2 * (count - 1), 1, deadline, &sockets));
  met.link = std::make_unique<SocketLink>(std::move(sockets), 0);
  return met;
}

Result<Met> Attend(const Address& first, uint16_t port, const Invitation& invitation) {
  const Deadline deadline(invitation.patience_seconds);
  const std::string& key = invitation.key;
  ASSIGN_OR_RETURN(Socket orders, Enter(first, {.purpose = Purpose::kOrders}, key, deadline));
  Channel channel(orders.Release());
  // On the interface that leads to the first rank, and on no other.
  ASSIGN_OR_RETURN(Socket listener,
                   ListenAt({.host = OwnAddress(channel.socket()).host, .port = port}));
  const uint16_t listens = OwnAddress(listener.descriptor()).port;
  ASSIGN_OR_RETURN(const Roster roster, AskRoster(first, listens, deadline, &channel));
  SocketLink::Sockets sockets(roster.count);
  const Visit floats = {.purpose = Purpose::kFloats, .rank = roster.rank};
  const Visit pulse = {.purpose = Purpose::kPulse, .rank = roster.rank};
  ASSIGN_OR_RETURN(sockets.floats[0], Enter(first, floats, key, deadline));
  ASSIGN_OR_RETURN(sockets.pulses[0], Enter(first, pulse, key, deadline));
  for (size_t other = 0; other < roster.before.size(); ++other) {
    ASSIGN_OR_RETURN(sockets.floats[other + 1], Enter(roster.before[other], floats, key, deadline));
  }
  Door door(std::move(listener), key);
  RETURN_IF_ERROR(
      SeatAll(&door, roster.count - roster.rank - 1, roster.rank + 1, deadline, &sockets));
  Met met;
  met.link = std::make_unique<SocketLink>(std::move(sockets), roster.rank);
  met.channels.push_back(std::move(channel));
  return met;
}

}  // namespace skald::ranks
