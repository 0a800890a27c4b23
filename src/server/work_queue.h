/// WorkQueue: which piece of work is next, so that nobody's work waits for all of somebody else's.
///
/// Work is measured by its cost in bytes. Short and long pieces wait in lanes of their own, which
/// threads of their own serve: no short one is ever behind a long one. In a lane tenants take turns
/// by deficit round robin (Shreedhar, Varghese 1995): each turn is worth kQuantum bytes times the
/// tenant's share, what it does not use it keeps while it has work, so tenants with work get bytes
/// in proportion to their shares whatever their pieces' number and size. Of one tenant the piece is
/// next for which (bytes the tenant had been given when it came) + (its cost) is least: a piece is
/// overtaken by later ones of the same tenant for at most as many bytes as it costs itself.
///
/// Full is relative: a tenant may have as many pieces waiting as there are places left (Choudhury,
/// Hahne 1998). One alone gets half of all, and whoever comes finds a place.
///
/// Pure: no threads, no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "server/api_keys.h"

namespace skald::server {

class WorkLimit;

/// A piece of work.
struct WorkPiece {
  TenantId tenant = kEveryone;
  int64_t cost_bytes = 0;
  int32_t share = 1;  ///< TenantRights::share
  std::function<void(const WorkLimit& limit)> run;
  uint64_t ticket = 0;  ///< set by the queue
};

/// See above. Not thread-safe.
class WorkQueue {
 public:
  using Ticket = uint64_t;
  enum class Lane : uint8_t { kShort, kLong };

  /// Pieces up to this cost are short: some 10 ms.
  static constexpr int64_t kShortBytes = int64_t{64} << 10;
  static constexpr int64_t kQuantum = int64_t{64} << 10;

  /// `most`: pieces that may wait.
  explicit WorkQueue(int64_t most) : most_(most) {}

  /// Whether a further piece of this tenant is taken.
  bool HasRoom(TenantId tenant) const { return size_of(tenant) < most_ - size(); }
  /// Whether or not there is room.
  Ticket Push(WorkPiece piece);
  /// The next piece of a lane, if there is one.
  std::optional<WorkPiece> Pop(Lane lane);
  static Lane LaneOf(const WorkPiece& piece) {
    return piece.cost_bytes <= kShortBytes ? Lane::kShort : Lane::kLong;
  }
  /// Takes a piece out; nothing if it was popped.
  std::optional<WorkPiece> Remove(Ticket ticket);

  int64_t size() const { return short_.size + long_.size; }
  int64_t size_of(TenantId tenant) const { return short_.size_of(tenant) + long_.size_of(tenant); }

 private:
  /// What a tenant has in a line.
  struct Backlog {
    // By (given when it came + cost, ticket).
    std::map<std::pair<int64_t, Ticket>, WorkPiece> pieces;
    int64_t given = 0;  // bytes
    int64_t deficit = 0;
  };
  // What waits in a lane.
  struct Line {
    std::map<TenantId, Backlog> backlogs;  // those with work
    TenantId turn = kEveryone;             // who is served, or the next behind it
    int64_t size = 0;

    int64_t size_of(TenantId tenant) const;
    void Push(Ticket ticket, WorkPiece piece);
    std::optional<WorkPiece> Pop();
    std::optional<WorkPiece> Remove(Ticket ticket);
    std::optional<WorkPiece> TakeOut(std::map<TenantId, Backlog>::iterator backlog,
                                     std::map<std::pair<int64_t, Ticket>, WorkPiece>::iterator at);
  };

  int64_t most_;
  Ticket next_ticket_ = 0;
  Line short_;
  Line long_;
};

}  // namespace skald::server
