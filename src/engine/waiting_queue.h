/// WaitingQueue: the sequences without pages, and which of them a plan may look at.
///
/// A step must not cost more because many wait: an index by tenant, and by the places that a
/// sequence needs, finds those that could go next without looking at the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "engine/request_state.h"

namespace skald::engine {

/// Running sequences that a waiting one will become.
int32_t PlacesOf(const Sequence& waiting);

/// What is free for one that waits.
struct FreePlaces {
  int64_t count = 0;
  /// Lowest priority of those that can be displaced.
  int32_t least_priority = std::numeric_limits<int32_t>::max();
  /// What each tenant has left of its part of the places, by Tenant::index, whoever has them now;
  /// empty where there is one tenant only.
  std::vector<int64_t> own = {};
};

/// While a sequence is here, nothing changes by which it is ordered: its priority, its length, its
/// tenant, whether it is due.
class WaitingQueue {
 public:
  /// O(log waiting), and eight bytes moved for each that goes behind it.
  void Insert(Sequence* sequence);
  void Erase(Sequence* sequence);

  size_t size() const { return sequences_.size(); }
  bool empty() const { return sequences_.empty(); }
  /// In the order of GoesBefore.
  const std::vector<Sequence*>& sequences() const { return sequences_; }

  /// Overwrites `*picked` with at most kMaxWaitingViews of those for which there is a place, or one
  /// to be taken, in the order of GoesBefore: of each tenant its first, then of each its second,
  /// and so on, so that those of another tenant are seen, however many wait. Those that are due are
  /// always among them, for nobody goes before them. None that is paused. Of beams the first stands
  /// for all.
  /// What is cached of them is not known here; so the shortest is the shortest text.
  /// O(tenants + paused).
  void Pick(const FreePlaces& places, std::vector<Sequence*>* picked);

  /// Appends of each tenant the request that came first and is not paused, if it came before `id`.
  /// O(tenants + paused).
  void OldestBefore(RequestId id, std::vector<RequestState*>* oldest) const;

 private:
  struct ByRank {
    bool operator()(const Sequence* a, const Sequence* b) const;
  };
  struct ByArrival {
    bool operator()(const Sequence* a, const Sequence* b) const;
  };
  // The waiting sequences of a tenant, of beams the first.
  struct OfTenant {
    std::map<int32_t, std::set<Sequence*, ByRank>> by_places;
    std::set<Sequence*, ByArrival> by_arrival;
  };
  struct Candidate {
    Sequence* sequence;
    int64_t round;  // of those of its tenant, this one goes so many-th
  };

  void PickOf(const OfTenant& tenant, const FreePlaces& places);
  void KeepTheFirst();

  std::vector<Sequence*> sequences_;
  std::map<int64_t, OfTenant> tenants_;  // by Tenant::id; none is empty
  std::vector<Candidate> queue_;         // for Pick
};

}  // namespace skald::engine
