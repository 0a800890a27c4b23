#include "kv/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::kv {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

}  // namespace

PrefixTree::Pin::Pin(Pin&& other) noexcept
    : tree_(std::exchange(other.tree_, nullptr)),
      node_(std::exchange(other.node_, kNoNode)),
      holds_state_(std::exchange(other.holds_state_, false)) {}

PrefixTree::Pin& PrefixTree::Pin::operator=(Pin&& other) noexcept {
  std::swap(tree_, other.tree_);
  std::swap(node_, other.node_);
  std::swap(holds_state_, other.holds_state_);
  return *this;
}

int64_t PrefixTree::Pin::tokens() const { return tree_ == nullptr ? 0 : tree_->At(node_).end; }

PrefixTree::Pin PrefixTree::Pin::Fork() const {
  return tree_ == nullptr ? Pin() : tree_->PinAt(node_);
}

void PrefixTree::Pin::Release() {
  ReleaseState();
  if (tree_ != nullptr) tree_->Unpin(node_);
  tree_ = nullptr;
  node_ = kNoNode;
}

PrefixTree::PrefixTree(PagePool* pool, int64_t state_slots)
    : pool_(pool), index_(2 * pool->total_count()) {
  const auto pages = static_cast<size_t>(pool->total_count());
  tokens_.resize(pages * kPage);
  whole_.resize(pages, kNoNode);
  path_.reserve(pages);
  nodes_.reserve(2 * pages + static_cast<size_t>(state_slots));
  free_nodes_.reserve(2 * pages + static_cast<size_t>(state_slots));
  snapshots_.reserve(static_cast<size_t>(state_slots));
}

PrefixTree::~PrefixTree() {
  Evict(pool_->total_count());
  CHECK(node_count() == 0);
}

// Calls `visit` with each node on the way of the tokens, and where they part from it or end.
template <typename Visit>
void PrefixTree::Follow(Namespace space, std::span<const TokenId> tokens,
                        const Visit& visit) const {
  NodeId node = index_.Find({.parent = kNoNode, .label = static_cast<uint64_t>(space)});
  size_t matched = 0;
  while (node != kNoNode && matched < tokens.size()) {
    const Step step = NextStep(node, tokens.subspan(matched));
    if (step.child == kNoNode) return;
    matched += static_cast<size_t>(step.common);
    const auto end = static_cast<int64_t>(matched);
    visit(step.child, end);
    if (At(step.child).end != end) return;
    node = step.child;
  }
}

int64_t PrefixTree::Match(Namespace space, std::span<const TokenId> tokens) const {
  int64_t found = 0;
  WindowsOnTheWay windows(pool_->windows());
  Follow(space, tokens, [&](NodeId node, int64_t end) {
    if (windows.AllowGoingOn(At(node).page, At(node).begin, end)) found = end;
  });
  return found;
}

// As Match, up to a snapshot, which stands at the end of a node only.
int64_t PrefixTree::MatchState(Namespace space, std::span<const TokenId> tokens) const {
  int64_t found = 0;
  WindowsOnTheWay windows(pool_->windows());
  Follow(space, tokens, [&](NodeId node, int64_t end) {
    const bool goes_on = windows.AllowGoingOn(At(node).page, At(node).begin, end);
    if (goes_on && At(node).end == end && At(node).snapshot != kNoSnapshot) found = end;
  });
  return found;
}

PrefixTree::Pin PrefixTree::Acquire(Namespace space, std::span<const TokenId> tokens,
                                    PageTable* table) {
  Pin pin = PinAt(RootOf(space));
  if (pool_->windows().exists()) {
    tokens = tokens.first(static_cast<size_t>(Match(space, tokens)));
  }
  Descend(&pin, tokens);
  PathTo(pin);
  table->Adopt(path_, pin.tokens());
  table->MarkPlace();
  return pin;
}

PrefixTree::Pin PrefixTree::AcquirePages(Namespace space, std::span<const TokenId> tokens,
                                         PageTable* table) {
  Pin pin = PinAt(RootOf(space));
  Descend(&pin, tokens);
  PathTo(pin);
  table->AdoptUnseen(path_, pin.tokens());
  return pin;
}

// The pages up to a pin, into path_. Upwards, so that the deepest node of each 32 positions comes
// first.
void PrefixTree::PathTo(const Pin& pin) {
  path_.resize(static_cast<size_t>(DivCeil<int64_t>(pin.tokens(), kPage)));
  size_t missing = path_.size();
  for (NodeId node = pin.node_; missing > 0; node = At(node).parent) {
    if (At(node).begin / kPage != static_cast<int64_t>(missing) - 1) continue;
    path_[--missing] = At(node).page;
  }
}

PrefixTree::Known PrefixTree::Look(Namespace space, std::span<const TokenId> tokens) const {
  Known known;
  const WindowPool& windows = pool_->windows();
  Follow(space, tokens, [&](NodeId node, int64_t end) {
    known.tokens = end;
    // Of the nodes within the same 32 positions the deepest names the page.
    known.windows.resize(static_cast<size_t>(DivCeil(end, kPage)));
    known.windows.back() = !windows.exists() || windows.Has(At(node).page);
  });
  return known;
}

PageId PrefixTree::PageOf(Namespace space, std::span<const TokenId> tokens) const {
  PageId page = kNoPage;
  Follow(space, tokens, [&](NodeId node, int64_t end) {
    page = end == std::ssize(tokens) ? At(node).page : kNoPage;
  });
  return page;
}

void PrefixTree::Insert(Pin* pin, std::span<const TokenId> tokens, PageTable* table) {
  CHECK(pin->tree_ == this && !pin->holds_state_);
  table->MarkShared(pin->tokens() + static_cast<int64_t>(tokens.size()));
  tokens = tokens.subspan(static_cast<size_t>(Descend(pin, tokens, table)));
  while (!tokens.empty()) {
    const PageId page = table->pages()[static_cast<size_t>(pin->tokens() / kPage)];
    tokens = tokens.subspan(static_cast<size_t>(Append(pin, tokens, page)));
  }
}

void PrefixTree::Unite(const Pin& pin, PageTable* table) {
  for (NodeId node = pin.node_; !IsRoot(node); node = At(node).parent) {
    if (At(node).end % kPage != 0) continue;
    const int64_t index = At(node).end / kPage - 1;
    const PageId own = table->pages()[static_cast<size_t>(index)];
    if (own == At(node).page) continue;
    if (table->InWindow(index) && !pool_->windows().Has(At(node).page)) {
      NamePage(node, own);
    } else {
      table->TakeShared(index, At(node).page);
    }
  }
}

int64_t PrefixTree::Evict(int64_t wanted) {
  const int64_t before = pool_->free_count();
  while (oldest_ != kNoNode && pool_->free_count() - before < wanted) RemoveLeaf(oldest_);
  return pool_->free_count() - before;
}

int64_t PrefixTree::node_count() const {
  return static_cast<int64_t>(nodes_.size() - free_nodes_.size());
}

// The child that starts with tokens[0], if any. Requires tokens.
PrefixTree::Step PrefixTree::NextStep(NodeId node, std::span<const TokenId> tokens) const {
  const NodeId child =
      index_.Find({.parent = node, .label = static_cast<uint64_t>(tokens.front())});
  if (child == kNoNode) return {};
  const std::span<const TokenId> run = RunOf(child);
  const auto [end, unused] = std::mismatch(run.begin(), run.end(), tokens.begin(), tokens.end());
  return {.child = child, .common = end - run.begin()};
}

// Moves the pin along tokens that the tree has, splitting where they end inside a node. Returns how
// many. Pages of `table`, which has computed them as well, replace those without window pages.
int64_t PrefixTree::Descend(Pin* pin, std::span<const TokenId> tokens, const PageTable* table) {
  const size_t wanted = tokens.size();
  while (!tokens.empty()) {
    const Step step = NextStep(pin->node_, tokens);
    if (step.child == kNoNode) break;
    const bool whole = step.common == At(step.child).end - At(step.child).begin;
    StepDown(pin, whole ? step.child : Split(step.child, step.common));
    if (table != nullptr && pool_->windows().exists()) RenewPage(pin->node_, *table);
    tokens = tokens.subspan(static_cast<size_t>(step.common));
  }
  return static_cast<int64_t>(wanted - tokens.size());
}

// Adds the tokens that fit into the page of the first of them, which the tree does not have.
// Returns how many.
int64_t PrefixTree::Append(Pin* pin, std::span<const TokenId> tokens, PageId page) {
  const Node& node = At(pin->node_);
  const auto room = static_cast<size_t>(kPage - node.end % kPage);
  const std::span<const TokenId> run = tokens.first(std::min(room, tokens.size()));
  // The leaf may grow if that moves nobody else's end, and if it ends inside the page.
  const bool grows = node.first_child == kNoNode && node.pins == 1 &&
                     node.snapshot == kNoSnapshot && node.end % kPage != 0;
  if (grows) {
    GrowLeaf(pin->node_, run, page);
  } else {
    StepDown(pin, AddChild(pin->node_, run, page));
  }
  return static_cast<int64_t>(run.size());
}

void PrefixTree::StepDown(Pin* pin, NodeId child) {
  const NodeId parent = std::exchange(pin->node_, child);
  if (At(child).pins_below == 0) {
    ListRemove(child);
    pool_->LockCached(At(child).page);
  }
  ++At(child).pins_below;
  ++At(child).pins;
  --At(parent).pins;
  MergeIntoOnlyChild(parent);
}

PrefixTree::Pin PrefixTree::PinAt(NodeId place) {
  // Only a place that is pinned already, or a root: none of them is in the list.
  CHECK(At(place).pins_below > 0 || IsRoot(place));
  ++At(place).pins;
  for (NodeId node = place; node != kNoNode; node = At(node).parent) ++At(node).pins_below;
  Pin pin;
  pin.tree_ = this;
  pin.node_ = place;
  return pin;
}

void PrefixTree::Unpin(NodeId place) {
  --At(place).pins;
  NodeId root = place;
  for (NodeId node = place; node != kNoNode; node = At(node).parent) {
    root = node;
    if (--At(node).pins_below > 0 || IsRoot(node)) continue;
    pool_->UnlockCached(At(node).page);
    ListInsert(node, newest_);
  }
  MergeIntoOnlyChild(place);
  RemoveRootIfUnused(root);
}

}  // namespace skald::kv
