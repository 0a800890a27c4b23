// What people see of the prefix tree: its widest edges.
#include <algorithm>
#include <utility>
#include <vector>

#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

// An edge that a view may show, by the node that it begins with.
struct Candidate {
  int64_t below;
  NodeId node;
  int32_t parent;
};

bool IsNarrower(const Candidate& a, const Candidate& b) { return a.below < b.below; }

// Of all candidates the `room` widest, which is how many are taken at most: what there is beside
// them, of a node with 100,000 children, would never be.
class Candidates {
 public:
  explicit Candidates(int64_t room) : room_(room) {}

  bool empty() const { return heap_.empty(); }

  // Cut back at twice the room, so that a cut, which looks at all of them, is shared by as many as
  // came since the last one.
  void Add(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), IsNarrower);
    if (std::ssize(heap_) < 2 * room_) return;
    const auto is_wider = [](const Candidate& a, const Candidate& b) { return IsNarrower(b, a); };
    std::nth_element(heap_.begin(), heap_.begin() + room_, heap_.end(), is_wider);
    heap_.erase(heap_.begin() + room_, heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), IsNarrower);
  }

  Candidate TakeWidest() {
    std::pop_heap(heap_.begin(), heap_.end(), IsNarrower);
    const Candidate widest = heap_.back();
    heap_.pop_back();
    return widest;
  }

 private:
  int64_t room_;
  std::vector<Candidate> heap_;
};

}  // namespace

// In one walk along the links, which needs no stack: down to the first child, else on to the next
// sibling, else up until there is one.
void PrefixTree::CountBelow(NodeId root, std::vector<int64_t>* below) const {
  const auto sum = [&](NodeId node) -> int64_t& { return (*below)[static_cast<size_t>(node)]; };
  NodeId node = root;
  for (;;) {
    sum(node) = At(node).end - At(node).begin;
    if (At(node).first_child != kNoNode) {
      node = At(node).first_child;
      continue;
    }
    while (node != root && At(node).next_sibling == kNoNode) {
      sum(At(node).parent) += sum(node);
      node = At(node).parent;
    }
    if (node == root) break;
    sum(At(node).parent) += sum(node);
    node = At(node).next_sibling;
  }
}

// The edge that begins with `node`, and the node where it ends: cuts at page borders are none for
// who reads it.
std::pair<ViewedEdge, NodeId> PrefixTree::EdgeFrom(NodeId node) const {
  ViewedEdge edge = {.begin = At(node).begin};
  for (;;) {
    const std::span<const TokenId> run = RunOf(node);
    const size_t room = static_cast<size_t>(kMostViewedTokens) - edge.tokens.size();
    edge.tokens.insert(edge.tokens.end(), run.begin(),
                       run.begin() + static_cast<int64_t>(std::min(room, run.size())));
    const NodeId child = At(node).first_child;
    const bool goes_on = child != kNoNode && At(child).next_sibling == kNoNode &&
                         At(node).pins == 0 && At(node).snapshot == kNoSnapshot;
    if (!goes_on) break;
    node = child;
  }
  edge.end = At(node).end;
  edge.in_use = At(node).pins_below > 0;
  edge.has_state = At(node).snapshot != kNoSnapshot;
  return {std::move(edge), node};
}

// Widest first, so that what is left out is narrower than all that is there.
void PrefixTree::ViewRoot(NodeId root, int64_t most, const ViewScratch& scratch,
                          PrefixView* view) const {
  Candidates candidates(most);
  const auto add_children = [&](NodeId node, int32_t parent) {
    for (NodeId child = At(node).first_child; child != kNoNode; child = At(child).next_sibling)
      candidates.Add({scratch.below[static_cast<size_t>(child)], child, parent});
  };
  const auto index = [&] { return static_cast<int32_t>(view->edges.size()); };
  add_children(root, index());
  view->edges.push_back({.space = static_cast<uint64_t>(At(root).space),
                         .below = scratch.below[static_cast<size_t>(root)],
                         .in_use = At(root).pins_below > 0});
  for (; most > 0 && !candidates.empty(); --most) {
    const Candidate widest = candidates.TakeWidest();
    auto [edge, last] = EdgeFrom(widest.node);
    edge.parent = widest.parent;
    edge.below = widest.below;
    edge.age = scratch.age[static_cast<size_t>(last)];
    add_children(last, index());
    view->edges.push_back(std::move(edge));
  }
}

PrefixView PrefixTree::View() const {
  PrefixView view = {.token_count = token_count_};
  ViewScratch scratch = {.below = std::vector<int64_t>(nodes_.size()),
                         .age = std::vector<float>(nodes_.size())};
  std::vector<NodeId> roots;
  int64_t listed = 0;
  for (NodeId node = 0; node < static_cast<NodeId>(nodes_.size()); ++node) {
    if (!At(node).used) continue;
    if (IsRoot(node)) roots.push_back(node);
    listed += int64_t{!IsRoot(node) && At(node).pins_below == 0};
  }
  for (const NodeId root : roots) CountBelow(root, &scratch.below);
  // Of a sequence that has computed nothing yet there is only that it stands there.
  std::erase_if(roots, [&](NodeId root) { return scratch.below[static_cast<size_t>(root)] == 0; });
  const float step = listed > 1 ? 1 / static_cast<float>(listed - 1) : 0;
  int64_t rank = 0;
  for (NodeId node = newest_; node != kNoNode; node = At(node).older)
    scratch.age[static_cast<size_t>(node)] = step * static_cast<float>(rank++);

  view.root_count = static_cast<int64_t>(roots.size());
  const auto is_wider = [&](NodeId a, NodeId b) {
    return scratch.below[static_cast<size_t>(a)] > scratch.below[static_cast<size_t>(b)];
  };
  std::sort(roots.begin(), roots.end(), is_wider);
  if (roots.size() > kMostViewedRoots) roots.resize(kMostViewedRoots);
  for (const NodeId root : roots) {
    const int64_t below = scratch.below[static_cast<size_t>(root)];
    const int64_t part = token_count_ > 0 ? kMostViewedEdges * below / token_count_ : 0;
    ViewRoot(root, std::max(part, kLeastViewedEdges), scratch, &view);
  }
  return view;
}

}  // namespace skald::kv
