/// ChildIndex: from a node of the prefix tree and the first token of an edge to the child there.
///
/// An open-addressing hash table of exact keys. The hash only says where to look; whether two keys
/// are the same is decided by comparing them. Erasing moves later entries up (no tombstones), so
/// the table never needs cleaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skald::kv {

/// The number of a node of the prefix tree, and "no node".
using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

/// Where an edge starts and what it starts with: a token, or, from kNoNode, a namespace.
struct EdgeKey {
  NodeId parent = kNoNode;
  uint64_t label = 0;

  friend bool operator==(const EdgeKey&, const EdgeKey&) = default;
};

/// Every function is O(1) expected. Memory grows, by doubling, only beyond the entries expected.
class ChildIndex {
 public:
  /// An empty index, with memory for `expected` >= 0 entries.
  explicit ChildIndex(int64_t expected);

  /// The child at `key`, or kNoNode.
  NodeId Find(const EdgeKey& key) const;
  /// Adds an entry. Requires that `key` has none.
  void Insert(const EdgeKey& key, NodeId child);
  /// Changes the child of an entry that exists.
  void Replace(const EdgeKey& key, NodeId child);
  /// Removes an entry that exists.
  void Erase(const EdgeKey& key);

  int64_t size() const { return size_; }

 private:
  struct Slot {
    EdgeKey key;
    NodeId child = kNoNode;  // kNoNode: the slot is empty
  };

  size_t HomeOf(const EdgeKey& key) const;
  // The slot of `key`, or the empty slot where it would go.
  size_t SlotOf(const EdgeKey& key) const;
  void Grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  int64_t size_ = 0;
};

}  // namespace skald::kv
