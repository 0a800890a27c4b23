// CheckIntegrity of the prefix tree: every fact that the other functions rely on, recounted.
#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

std::string About(NodeId node, const char* problem) {
  return "prefix tree: node " + std::to_string(node) + " " + problem;
}

}  // namespace

std::string PrefixTree::CheckIntegrity() const {
  int64_t used = 0;
  int64_t tokens = 0;
  for (NodeId node = 0; node < static_cast<NodeId>(nodes_.size()); ++node) {
    if (!At(node).used) continue;
    ++used;
    tokens += At(node).end - At(node).begin;
    if (std::string problem = CheckNode(node); !problem.empty()) return problem;
    if (std::string problem = CheckChildren(node); !problem.empty()) return problem;
  }
  if (used != node_count()) return "prefix tree: the free nodes are miscounted";
  if (used != index_.size()) return "prefix tree: the index has entries without a node";
  if (tokens != token_count_) return "prefix tree: the tokens are miscounted";
  if (std::string problem = CheckList(); !problem.empty()) return problem;
  if (std::string problem = CheckPages(); !problem.empty()) return problem;
  if (std::string problem = CheckSnapshots(); !problem.empty()) return problem;
  return pool_->CheckIntegrity();
}

// One node beside its parent and its index entry.
std::string PrefixTree::CheckNode(NodeId id) const {
  const Node& node = At(id);
  if (index_.Find(KeyOf(id)) != id) return About(id, "is not in the index");
  if (node.pins < 0 || node.pins_below < node.pins) return About(id, "has a wrong number of pins");
  if (IsRoot(id)) {
    const bool needed = node.first_child != kNoNode || node.pins > 0;
    return needed && node.begin == 0 && node.end == 0 ? "" : About(id, "is not a root");
  }
  const Node& parent = At(node.parent);
  if (!parent.used || parent.end != node.begin) return About(id, "does not follow its parent");
  if (node.begin >= node.end || node.begin / kPage != (node.end - 1) / kPage) {
    return About(id, "is empty or crosses a page border");
  }
  if ((whole_[static_cast<size_t>(node.page)] == id) != (node.end % kPage == 0)) {
    return About(id, "is not known as the one that ends at the border of its page");
  }
  const auto before = static_cast<size_t>(node.begin % kPage);
  if (before > 0 &&
      !std::equal(TokensOf(node.page), TokensOf(node.page) + before, TokensOf(parent.page))) {
    return About(id, "has a page whose front is not its path");
  }
  return {};
}

// The list of children, their pins, and that no needless split is left.
std::string PrefixTree::CheckChildren(NodeId id) const {
  const Node& node = At(id);
  int64_t children = 0;
  int64_t in_page = 0;
  int32_t pins = node.pins;
  NodeId previous = kNoNode;
  for (NodeId child = node.first_child; child != kNoNode; child = At(child).next_sibling) {
    if (!At(child).used || At(child).parent != id || At(child).previous_sibling != previous) {
      return About(id, "has a broken list of children");
    }
    pins += At(child).pins_below;
    previous = child;
    ++children;
    in_page += int64_t{At(child).page == node.page};
  }
  if (pins != node.pins_below) return About(id, "does not have the pins of its children");
  if (!IsRoot(id) && children == 1 && node.pins == 0 && node.snapshot == kNoSnapshot &&
      node.end % kPage != 0) {
    return About(id, "should be one with its only child");
  }
  if (!IsRoot(id) && children > 0 && node.end % kPage != 0 && in_page != 1) {
    return About(id, "has a page for itself");
  }
  return {};
}

// The list by last use holds exactly the unpinned nodes, children before parents.
std::string PrefixTree::CheckList() const {
  std::vector<bool> seen(nodes_.size(), false);
  NodeId older = kNoNode;
  for (NodeId id = oldest_; id != kNoNode; id = At(id).newer) {
    const Node& node = At(id);
    if (!node.used || seen[static_cast<size_t>(id)] || node.older != older) {
      return "prefix tree: the list by last use is broken";
    }
    if (node.pins_below > 0 || IsRoot(id)) return About(id, "must not be in the list");
    if (seen[static_cast<size_t>(node.parent)]) return About(id, "is newer than its parent");
    seen[static_cast<size_t>(id)] = true;
    older = id;
  }
  if (older != newest_) return "prefix tree: the list by last use has a wrong end";
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    const bool listed = At(id).used && !IsRoot(id) && At(id).pins_below == 0;
    if (listed && !seen[static_cast<size_t>(id)]) return About(id, "is missing from the list");
  }
  return {};
}

// Each page has the references and locks of the nodes that name it, which lie on one path.
std::string PrefixTree::CheckPages() const {
  struct Count {
    int32_t references = 0;
    int32_t locks = 0;
    NodeId deepest = kNoNode;
  };
  std::vector<Count> counts(static_cast<size_t>(pool_->total_count()));
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    const Node& node = At(id);
    if (!node.used || IsRoot(id)) continue;
    Count& count = counts[static_cast<size_t>(node.page)];
    ++count.references;
    count.locks += int32_t{node.pins_below > 0};
    if (count.deepest == kNoNode || At(count.deepest).end < node.end) count.deepest = id;
  }
  for (PageId page = 0; page < static_cast<PageId>(counts.size()); ++page) {
    const Count& count = counts[static_cast<size_t>(page)];
    if (pool_->cache_references(page) != count.references ||
        pool_->cache_locks(page) != count.locks) {
      return "prefix tree: page " + std::to_string(page) + " has wrong references";
    }
    int32_t on_path = 0;
    const int64_t index = count.references == 0 ? 0 : At(count.deepest).begin / kPage;
    for (NodeId id = count.deepest; id != kNoNode && !IsRoot(id) && At(id).begin / kPage == index;
         id = At(id).parent) {
      on_path += int32_t{At(id).page == page};
    }
    if (on_path != count.references) {
      return "prefix tree: page " + std::to_string(page) + " is named by two branches";
    }
  }
  return {};
}

// Each snapshot has a slot and stands at one node, no root, whose pins are those that keep it.
std::string PrefixTree::CheckSnapshots() const {
  int64_t nodes = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    if (!At(id).used || At(id).snapshot == kNoSnapshot) continue;
    ++nodes;
    if (IsRoot(id)) return About(id, "is a root with a snapshot");
    const auto index = static_cast<size_t>(At(id).snapshot);
    if (index >= snapshots_.size()) return About(id, "names a snapshot that is gone");
    const Snapshot& snapshot = snapshots_[index];
    if (snapshot.node != id) return About(id, "names the snapshot of another node");
    if (!snapshot.slot.holds()) return About(id, "has a snapshot without a slot");
    if (snapshot.holds < 0 || snapshot.holds > At(id).pins) {
      return About(id, "has a snapshot that is kept by nobody");
    }
  }
  return nodes == snapshot_count() ? "" : "prefix tree: a snapshot stands at no node";
}

std::vector<PageId> PrefixTree::PagesTo(NodeId last) const {
  std::vector<PageId> pages(static_cast<size_t>(DivCeil<int64_t>(At(last).end, kPage)));
  size_t missing = pages.size();
  for (NodeId node = last; missing > 0; node = At(node).parent) {
    if (At(node).begin / kPage != static_cast<int64_t>(missing) - 1) continue;
    pages[--missing] = At(node).page;
  }
  return pages;
}

std::vector<PrefixTree::SnapshotView> PrefixTree::Snapshots() const {
  std::vector<SnapshotView> views;
  for (const Snapshot& snapshot : snapshots_) {
    views.push_back({.state = snapshot.slot.id(),
                     .tokens = At(snapshot.node).end,
                     .ticket = snapshot.ticket,
                     .pages = PagesTo(snapshot.node)});
  }
  return views;
}

}  // namespace skald::kv
