#include "server/work_queue.h"

#include <algorithm>
#include <utility>

namespace skald::server {

int64_t WorkQueue::Line::size_of(TenantId tenant) const {
  const auto backlog = backlogs.find(tenant);
  return backlog == backlogs.end() ? 0 : static_cast<int64_t>(backlog->second.pieces.size());
}

void WorkQueue::Line::Push(Ticket ticket, WorkPiece piece) {
  piece.ticket = ticket;
  Backlog& backlog = backlogs[piece.tenant];
  const int64_t place = backlog.given + piece.cost_bytes;
  backlog.pieces.emplace(std::pair(place, ticket), std::move(piece));
  ++size;
}

// A tenant without work is forgotten: who comes back has saved nothing, and owes nothing.
std::optional<WorkPiece> WorkQueue::Line::TakeOut(
    std::map<TenantId, Backlog>::iterator backlog,
    std::map<std::pair<int64_t, Ticket>, WorkPiece>::iterator at) {
  WorkPiece piece = std::move(at->second);
  backlog->second.pieces.erase(at);
  if (backlog->second.pieces.empty()) backlogs.erase(backlog);
  --size;
  return piece;
}

std::optional<WorkPiece> WorkQueue::Line::Pop() {
  if (backlogs.empty()) return std::nullopt;
  for (;;) {
    auto backlog = backlogs.lower_bound(turn);
    if (backlog == backlogs.end()) backlog = backlogs.begin();
    turn = backlog->first;
    const auto first = backlog->second.pieces.begin();
    const int64_t cost = first->second.cost_bytes;
    if (cost <= backlog->second.deficit) {
      backlog->second.deficit -= cost;
      backlog->second.given += cost;
      return TakeOut(backlog, first);
    }
    backlog->second.deficit += kQuantum * first->second.share;
    // The turn passes on before it is used: who has just come is not served twice in a row.
    turn = backlog->first + 1;
  }
}

std::optional<WorkPiece> WorkQueue::Line::Remove(Ticket ticket) {
  for (auto backlog = backlogs.begin(); backlog != backlogs.end(); ++backlog) {
    auto& pieces = backlog->second.pieces;
    const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const auto& entry) {
      return entry.first.second == ticket;
    });
    if (found != pieces.end()) return TakeOut(backlog, found);
  }
  return std::nullopt;
}

WorkQueue::Ticket WorkQueue::Push(WorkPiece piece) {
  const Ticket ticket = next_ticket_++;
  Line& line = LaneOf(piece) == Lane::kShort ? short_ : long_;
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
