#include "engine/waiting_queue.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "engine/step_plan.h"

namespace skald::engine {
namespace {

bool InOrder(const Sequence* a, const Sequence* b) { return GoesBefore(*a, *b); }

// The beams of a search come back with the first of them.
bool StandsForItself(const Sequence* sequence) {
  return !sequence->request->beams || sequence == sequence->request->lead();
}

}  // namespace

int32_t PlacesOf(const Sequence& waiting) {
  const RequestState& state = *waiting.request;
  return state.beams ? state.request.width() : 1 + state.unforked();
}

bool WaitingQueue::ByRank::operator()(const Sequence* a, const Sequence* b) const {
  const auto key = [](const Sequence& sequence) {
    const RequestState& request = *sequence.request;
    return std::tuple(!request.due, -int64_t{request.priority}, sequence.length(), request.id,
                      sequence.index);
  };
  return key(*a) < key(*b);
}

bool WaitingQueue::ByArrival::operator()(const Sequence* a, const Sequence* b) const {
  return std::tuple(a->request->id, a->index) < std::tuple(b->request->id, b->index);
}

void WaitingQueue::Insert(Sequence* sequence) {
  sequences_.insert(std::upper_bound(sequences_.begin(), sequences_.end(), sequence, InOrder),
                    sequence);
  if (!StandsForItself(sequence)) return;
  OfTenant& tenant = tenants_[sequence->request->tenant->id];
  tenant.by_places[PlacesOf(*sequence)].insert(sequence);
  tenant.by_arrival.insert(sequence);
}

void WaitingQueue::Erase(Sequence* sequence) {
  const auto place = std::lower_bound(sequences_.begin(), sequences_.end(), sequence, InOrder);
  CHECK(place != sequences_.end() && *place == sequence);
  sequences_.erase(place);
  // Where the beams of a search end one after the other, each becomes the first; only the one that
  // was when they came is here.
  const auto tenant = tenants_.find(sequence->request->tenant->id);
  if (tenant == tenants_.end()) return;
  const auto places = tenant->second.by_places.find(PlacesOf(*sequence));
  if (places == tenant->second.by_places.end() || places->second.erase(sequence) == 0) return;
  if (places->second.empty()) tenant->second.by_places.erase(places);
  tenant->second.by_arrival.erase(sequence);
  if (tenant->second.by_arrival.empty()) tenants_.erase(tenant);
}

// Those that need more places than there are go before the others by what makes them go at all, so
// they stand in front.
void WaitingQueue::PickOf(const OfTenant& tenant, const FreePlaces& places) {
  const size_t begin = queue_.size();
  for (const auto& [needed, sequences] : tenant.by_places) {
    int64_t left = kMaxWaitingViews;
    for (Sequence* sequence : sequences) {
      const RequestState& request = *sequence->request;
      const auto index = static_cast<size_t>(request.tenant->index);
      const bool goes = needed <= places.count ||
                        (index < places.own.size() && needed <= places.own[index]) || request.due ||
                        request.request.priority > places.least_priority;
      if (!goes || left == 0) break;
      if (request.paused()) continue;
      queue_.push_back({.sequence = sequence, .round = 0});
      --left;
    }
  }
  const auto first = queue_.begin() + static_cast<int64_t>(begin);
  std::sort(first, queue_.end(), [](const Candidate& a, const Candidate& b) {
    return ByRank()(a.sequence, b.sequence);
  });
  queue_.resize(std::min(queue_.size(), begin + size_t{kMaxWaitingViews}));
  for (size_t i = begin; i < queue_.size(); ++i) {
    queue_[i].round = static_cast<int64_t>(i - begin);
  }
}

void WaitingQueue::KeepTheFirst() {
  if (static_cast<int64_t>(queue_.size()) <= kMaxWaitingViews) return;
  const auto key = [](const Candidate& each) {
    const RequestState& request = *each.sequence->request;
    return std::tuple(!request.due, each.round, request.tenant->view.used, request.id,
                      each.sequence->index);
  };
  const auto last = queue_.begin() + kMaxWaitingViews;
  std::partial_sort(queue_.begin(), last, queue_.end(),
                    [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  queue_.erase(last, queue_.end());
}

void WaitingQueue::Pick(const FreePlaces& places, std::vector<Sequence*>* picked) {
  picked->clear();
  queue_.clear();
  for (const auto& [id, tenant] : tenants_) PickOf(tenant, places);
  KeepTheFirst();
  for (const Candidate& each : queue_) picked->push_back(each.sequence);
  std::sort(picked->begin(), picked->end(), InOrder);
}

void WaitingQueue::OldestBefore(RequestId id, std::vector<RequestState*>* oldest) const {
  for (const auto& [tenant, sequences] : tenants_) {
    for (const Sequence* sequence : sequences.by_arrival) {
      if (sequence->request->id >= id) break;
      if (sequence->request->paused()) continue;
      oldest->push_back(sequence->request);
      break;
    }
  }
}

}  // namespace skald::engine
