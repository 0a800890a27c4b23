// Snapshots in the prefix tree: where a network with states can go on, and which of them go first.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kv/prefix_tree.h"

namespace skald::kv {

StateId PrefixTree::Pin::state() const {
  return holds_state_ ? tree_->SnapshotAt(node_).slot.id() : kNoState;
}

void PrefixTree::Pin::ReleaseState() {
  if (std::exchange(holds_state_, false)) --tree_->SnapshotAt(node_).holds;
}

PrefixTree::Pin PrefixTree::AcquireState(Namespace space, std::span<const TokenId> tokens,
                                         PageTable* table) {
  const int64_t found = MatchState(space, tokens);
  Pin pin = Acquire(space, tokens.first(static_cast<size_t>(found)), table);
  if (found == 0) return pin;
  Snapshot& snapshot = SnapshotAt(pin.node_);
  ++snapshot.holds;
  snapshot.used = ++state_clock_;
  pin.holds_state_ = true;
  return pin;
}

void PrefixTree::PutState(const Pin& pin, StateSlot slot) {
  CHECK(pin.tree_ == this && !IsRoot(pin.node_) && slot.holds());
  if (At(pin.node_).snapshot == kNoSnapshot) {
    At(pin.node_).snapshot = static_cast<int32_t>(snapshots_.size());
    snapshots_.push_back({.slot = std::move(slot), .node = pin.node_});
  }
  SnapshotAt(pin.node_).used = ++state_clock_;
}

PrefixTree::Ticket PrefixTree::ParkState(const Pin& pin, StateSlot slot) {
  const bool was_there = At(pin.node_).snapshot != kNoSnapshot;
  PutState(pin, std::move(slot));
  Snapshot& snapshot = SnapshotAt(pin.node_);
  if (was_there && snapshot.ticket != kNoTicket) return kNoTicket;  // of another that waits
  return snapshot.ticket = state_clock_;
}

void PrefixTree::Unpark(Ticket ticket) {
  if (ticket == kNoTicket) return;
  for (Snapshot& snapshot : snapshots_) {
    if (snapshot.ticket == ticket) snapshot.ticket = kNoTicket;
  }
}

StateSlot PrefixTree::TakeState(Pin* pin) {
  CHECK(pin->tree_ == this && pin->holds_state_);
  if (SnapshotAt(pin->node_).holds > 1) return {};
  pin->ReleaseState();
  return DropSnapshot(pin->node_);
}

bool PrefixTree::IsParked(const Pin& pin, Ticket ticket) const {
  CHECK(pin.tree_ == this && pin.holds_state_);
  return ticket != kNoTicket &&
         snapshots_[static_cast<size_t>(At(pin.node_).snapshot)].ticket == ticket;
}

StateSlot PrefixTree::EvictState() {
  const NodeId node = LeastWorth();
  if (node == kNoNode) return {};
  TellStateEviction(node);
  StateSlot slot = DropSnapshot(node);
  MergeIntoOnlyChild(node);
  return slot;
}

StateSlot PrefixTree::EvictStateFor(int64_t tokens) {
  const NodeId node = LeastWorth();
  if (node == kNoNode) return {};
  const Snapshot& snapshot = SnapshotAt(node);
  const bool costs_more = WorthOf(snapshot) > static_cast<double>(tokens);
  return snapshot.ticket != kNoTicket || costs_more ? StateSlot() : EvictState();
}

int64_t PrefixTree::TokensSinceState(NodeId place) const {
  NodeId node = At(place).parent;
  while (node != kNoNode && At(node).snapshot == kNoSnapshot) node = At(node).parent;
  return At(place).end - (node == kNoNode ? 0 : At(node).end);
}

// Tokens by age, both as they are: a place that saves twice as much may be twice as old.
double PrefixTree::WorthOf(const Snapshot& snapshot) const {
  const auto age = static_cast<double>(state_clock_ - snapshot.used);
  return static_cast<double>(TokensSinceState(snapshot.node)) / (1 + age);
}

// Those that somebody waits for behind all others: the one who waits is sure to ask.
NodeId PrefixTree::LeastWorth() const {
  NodeId least = kNoNode;
  std::pair<bool, double> least_worth;
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.holds > 0) continue;
    const std::pair worth(snapshot.ticket != kNoTicket, WorthOf(snapshot));
    if (least != kNoNode && worth >= least_worth) continue;
    least = snapshot.node;
    least_worth = worth;
  }
  return least;
}

// Takes the snapshot from a node that no pin keeps it at; the node may then be one to merge.
StateSlot PrefixTree::DropSnapshot(NodeId node) {
  Snapshot& snapshot = SnapshotAt(node);
  CHECK(snapshot.holds == 0);
  StateSlot slot = std::move(snapshot.slot);
  const int32_t index = std::exchange(At(node).snapshot, kNoSnapshot);
  if (&snapshot != &snapshots_.back()) {
    snapshot = std::move(snapshots_.back());
    At(snapshot.node).snapshot = index;
  }
  snapshots_.pop_back();
  return slot;
}

}  // namespace skald::kv
