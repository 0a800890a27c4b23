#include "server/work_queue.h"

#include <algorithm>
#include <utility>

namespace skald::server {

int64_t WorkQueue::Line::size_of(TenantId tenant) const {
  const auto share = shares.find(tenant);
  return share == shares.end() ? 0 : static_cast<int64_t>(share->second.pieces.size());
}

void WorkQueue::Line::Push(Ticket ticket, WorkPiece piece) {
  piece.ticket = ticket;
  Share& share = shares[piece.tenant];
  const int64_t place = share.given + piece.cost_bytes;
  share.pieces.emplace(std::pair(place, ticket), std::move(piece));
  ++size;
}

// A share without work is forgotten: who comes back has saved nothing, and owes nothing.
std::optional<WorkPiece> WorkQueue::Line::TakeOut(
    std::map<TenantId, Share>::iterator share,
    std::map<std::pair<int64_t, Ticket>, WorkPiece>::iterator at) {
  WorkPiece piece = std::move(at->second);
  share->second.pieces.erase(at);
  if (share->second.pieces.empty()) shares.erase(share);
  --size;
  return piece;
}

std::optional<WorkPiece> WorkQueue::Line::Pop() {
  if (shares.empty()) return std::nullopt;
  for (;;) {
    auto share = shares.lower_bound(turn);
    if (share == shares.end()) share = shares.begin();
    turn = share->first;
    const auto first = share->second.pieces.begin();
    const int64_t cost = first->second.cost_bytes;
    if (cost <= share->second.deficit) {
      share->second.deficit -= cost;
      share->second.given += cost;
      return TakeOut(share, first);
    }
    share->second.deficit += kQuantum;
    // The turn passes on before it is used: who has just come is not served twice in a row.
    turn = share->first + 1;
  }
}

std::optional<WorkPiece> WorkQueue::Line::Remove(Ticket ticket) {
  for (auto share = shares.begin(); share != shares.end(); ++share) {
    auto& pieces = share->second.pieces;
    const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const auto& entry) {
      return entry.first.second == ticket;
    });
    if (found != pieces.end()) return TakeOut(share, found);
  }
  return std::nullopt;
}

WorkQueue::Ticket WorkQueue::Push(WorkPiece piece) {
  const Ticket ticket = next_ticket_++;
  Line& line = piece.cost_bytes <= kShortBytes ? short_ : long_;
  line.Push(ticket, std::move(piece));
  return ticket;
}

std::optional<WorkPiece> WorkQueue::Pop(Lane lane) {
  return lane == Lane::kShort ? short_.Pop() : long_.Pop();
}

std::optional<WorkPiece> WorkQueue::Remove(Ticket ticket) {
  auto piece = short_.Remove(ticket);
  return piece ? std::move(piece) : long_.Remove(ticket);
}

}  // namespace skald::server
