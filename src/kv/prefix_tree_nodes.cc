// The changes of shape of the prefix tree. Each leaves links, index, list and references right, and
// keeps the two facts everything rests on: a page's tokens are known from its first position to the
// end of the deepest node that names it, and children stand before their parents in the list.
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

uint64_t LabelOf(TokenId token) { return static_cast<uint64_t>(token); }

}  // namespace

TokenId* PrefixTree::TokensOf(PageId page) { return &tokens_[static_cast<size_t>(page * kPage)]; }
const TokenId* PrefixTree::TokensOf(PageId page) const {
  return &tokens_[static_cast<size_t>(page * kPage)];
}

std::span<const TokenId> PrefixTree::RunOf(NodeId id) const {
  const Node& node = At(id);
  return {TokensOf(node.page) + node.begin % kPage, static_cast<size_t>(node.end - node.begin)};
}

EdgeKey PrefixTree::KeyOf(NodeId id) const {
  const Node& node = At(id);
  const uint64_t label =
      IsRoot(id) ? static_cast<uint64_t>(node.space) : LabelOf(RunOf(id).front());
  return {.parent = node.parent, .label = label};
}

NodeId PrefixTree::NewNode() {
  if (free_nodes_.empty()) {
    free_nodes_.push_back(static_cast<NodeId>(nodes_.size()));
    nodes_.emplace_back();
  }
  const NodeId node = free_nodes_.back();
  free_nodes_.pop_back();
  At(node) = Node{.used = true};
  if (static_cast<size_t>(node) < keys_.size()) keys_[static_cast<size_t>(node)].reset();
  return node;
}

void PrefixTree::FreeNode(NodeId node) {
  At(node).used = false;
  free_nodes_.push_back(node);
}

NodeId PrefixTree::RootOf(Namespace space) {
  const EdgeKey key = {.parent = kNoNode, .label = static_cast<uint64_t>(space)};
  NodeId root = index_.Find(key);
  if (root != kNoNode) return root;
  root = NewNode();
  At(root).space = space;
  index_.Insert(key, root);
  return root;
}

void PrefixTree::RemoveRootIfUnused(NodeId root) {
  if (At(root).first_child != kNoNode || At(root).pins > 0) return;
  index_.Erase(KeyOf(root));
  FreeNode(root);
}

// A new leaf of the tokens that follow `parent`, all in `page`.
NodeId PrefixTree::AddChild(NodeId parent, std::span<const TokenId> run, PageId page) {
  const NodeId child = NewNode();
  const bool is_first = At(parent).first_child == kNoNode;
  WriteTokens(parent, run, page);
  At(child).begin = At(parent).end;
  At(child).end = At(parent).end + static_cast<int64_t>(run.size());
  TakePage(child, page);
  LinkChild(parent, child);
  index_.Insert(KeyOf(child), child);
  ListInsert(child, newest_);
  if (is_first && At(parent).end % kPage != 0) ChangePage(parent, page);
  token_count_ += static_cast<int64_t>(run.size());
  return child;
}

// Lengthens a leaf. If the caller has another page for the same 32 positions, that one, which holds
// the old positions too, replaces the leaf's.
void PrefixTree::GrowLeaf(NodeId leaf, std::span<const TokenId> run, PageId page) {
  WriteTokens(leaf, run, page);
  ChangePage(leaf, page);
  At(leaf).end += static_cast<int64_t>(run.size());
  if (At(leaf).end % kPage == 0) whole_[static_cast<size_t>(page)] = leaf;
  token_count_ += static_cast<int64_t>(run.size());
}

// Cuts a node after `length` of its tokens, 0 < length < all. The node keeps the rear, with its
// children and pins; returns the new node of the front.
NodeId PrefixTree::Split(NodeId rear, int64_t length) {
  const NodeId front = NewNode();
  At(front).begin = At(rear).begin;
  At(front).end = At(rear).begin + length;
  At(front).pins_below = At(rear).pins_below;
  TakePage(front, At(rear).page);
  TakePlaceOf(front, rear);
  At(rear).begin = At(front).end;
  LinkChild(front, rear);
  index_.Insert(KeyOf(rear), rear);
  if (At(front).pins_below == 0) ListInsert(front, rear);
  return front;
}

// Undoes a split that nobody needs: if no pin ends at `front` and no snapshot stands there, and a
// single child follows within the same 32 positions, the child becomes both. It counts as used when
// the later of them was.
void PrefixTree::MergeIntoOnlyChild(NodeId front) {
  const NodeId rear = At(front).first_child;
  if (IsRoot(front) || At(front).pins > 0 || At(front).end % kPage == 0) return;
  if (At(front).snapshot != kNoSnapshot) return;
  if (rear == kNoNode || At(rear).next_sibling != kNoNode) return;
  index_.Erase(KeyOf(rear));
  UnlinkChild(rear);
  At(rear).begin = At(front).begin;
  TakePlaceOf(rear, front);
  if (At(front).pins_below == 0) {
    ListRemove(rear);
    ListInsert(rear, front);
    ListRemove(front);
  }
  DropPage(front);
  FreeNode(front);
}

// Evicts one leaf that is in the list. If others branch from the same place, its page goes: they
// have all of it that is left.
void PrefixTree::RemoveLeaf(NodeId leaf) {
  const NodeId parent = At(leaf).parent;
  const PageId page = At(leaf).page;
  CHECK(At(leaf).first_child == kNoNode && At(leaf).pins_below == 0);
  if (watcher_ != nullptr) TellEviction(leaf);
  if (At(leaf).snapshot != kNoSnapshot) {
    TellStateEviction(leaf);
    DropSnapshot(leaf);  // and with it goes its slot
  }
  token_count_ -= At(leaf).end - At(leaf).begin;
  ListRemove(leaf);
  index_.Erase(KeyOf(leaf));
  UnlinkChild(leaf);
  DropPage(leaf);
  FreeNode(leaf);
  if (IsRoot(parent)) return RemoveRootIfUnused(parent);
  const NodeId sibling = At(parent).first_child;
  if (sibling != kNoNode && At(parent).page == page) ChangePage(parent, At(sibling).page);
  MergeIntoOnlyChild(parent);
}

// Notes that `run` follows the node `before` in `page`; and, so that the page's tokens are known
// from its first position, those of the path that precede it there.
void PrefixTree::WriteTokens(NodeId before, std::span<const TokenId> run, PageId page) {
  const int64_t offset = At(before).end % kPage;
  TokenId* tokens = TokensOf(page);
  if (offset > 0 && At(before).page != page) {
    std::copy_n(TokensOf(At(before).page), offset, tokens);
  }
  std::copy(run.begin(), run.end(), tokens + offset);
}

void PrefixTree::TakePage(NodeId node, PageId page) {
  At(node).page = page;
  if (At(node).end % kPage == 0) whole_[static_cast<size_t>(page)] = node;
  pool_->AddCacheReference(page);
  if (At(node).pins_below > 0) pool_->LockCached(page);
}

void PrefixTree::DropPage(NodeId node) {
  NodeId& whole = whole_[static_cast<size_t>(At(node).page)];
  if (whole == node) whole = kNoNode;
  if (At(node).pins_below > 0) pool_->UnlockCached(At(node).page);
  pool_->ReleaseCacheReference(At(node).page);
}

// Lets a node name another page of the same 32 positions, which holds all that its own does; and so
// those above it that named the same.
void PrefixTree::ChangePage(NodeId node, PageId page) {
  const PageId old = At(node).page;
  const int64_t index = At(node).begin / kPage;
  if (page == old) return;
  while (!IsRoot(node) && At(node).begin / kPage == index && At(node).page == old) {
    DropPage(node);
    TakePage(node, page);
    node = At(node).parent;
  }
}

// A node whose page has lost its window page gets that of a sequence that has computed the same
// positions again. One that ends inside its page names that of a child, which knows more than the
// sequence has computed: it waits until one has come to the end of the page.
void PrefixTree::RenewPage(NodeId node, const PageTable& table) {
  const bool is_whole = At(node).end % kPage == 0 || At(node).first_child == kNoNode;
  if (!is_whole || pool_->windows().Has(At(node).page)) return;
  const int64_t index = At(node).begin / kPage;
  const PageId page = table.pages()[static_cast<size_t>(index)];
  if (pool_->windows().Has(page)) NamePage(node, page);
}

// As ChangePage, with a page whose tokens the tree does not know yet.
void PrefixTree::NamePage(NodeId node, PageId page) {
  const int64_t begin = At(node).begin / kPage * kPage;
  std::copy_n(TokensOf(At(node).page), At(node).end - begin, TokensOf(page));
  ChangePage(node, page);
}

void PrefixTree::LinkChild(NodeId parent, NodeId child) {
  const NodeId sibling = At(parent).first_child;
  At(child).parent = parent;
  At(child).previous_sibling = kNoNode;
  At(child).next_sibling = sibling;
  if (sibling != kNoNode) At(sibling).previous_sibling = child;
  At(parent).first_child = child;
}

void PrefixTree::UnlinkChild(NodeId child) {
  const Node& node = At(child);
  if (node.previous_sibling != kNoNode) {
    At(node.previous_sibling).next_sibling = node.next_sibling;
  } else {
    At(node.parent).first_child = node.next_sibling;
  }
  if (node.next_sibling != kNoNode) At(node.next_sibling).previous_sibling = node.previous_sibling;
}

// Puts `node` where `replaced` hangs, which is left without a parent. Both start with the same
// token.
void PrefixTree::TakePlaceOf(NodeId node, NodeId replaced) {
  index_.Replace(KeyOf(replaced), node);
  UnlinkChild(replaced);
  LinkChild(At(replaced).parent, node);
}

// Puts `node` into the list next to `older_neighbour`, on its newer side; kNoNode: as the oldest.
void PrefixTree::ListInsert(NodeId node, NodeId older_neighbour) {
  const NodeId newer = older_neighbour == kNoNode ? oldest_ : At(older_neighbour).newer;
  At(node).older = older_neighbour;
  At(node).newer = newer;
  (older_neighbour == kNoNode ? oldest_ : At(older_neighbour).newer) = node;
  (newer == kNoNode ? newest_ : At(newer).older) = node;
}

void PrefixTree::ListRemove(NodeId node) {
  const NodeId older = At(node).older;
  const NodeId newer = At(node).newer;
  (older == kNoNode ? oldest_ : At(older).newer) = newer;
  (newer == kNoNode ? newest_ : At(newer).older) = older;
}

}  // namespace skald::kv
