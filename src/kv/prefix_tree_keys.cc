// Keys of the pages that eviction takes. A path is evicted from its tail, page by page, and each
// key covers all tokens before it: so keys are kept for as long as their nodes live, or a path of n
// pages would be hashed n times.
#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;
static_assert(disk::kKeyTokens == kPage);

}  // namespace

void PrefixTree::WatchEvictions(EvictionWatcher* watcher, const disk::PageKey& identity) {
  CHECK(watcher == nullptr || node_count() == 0);
  watcher_ = watcher;
  identity_ = identity;
  pool_->windows().Watch(watcher == nullptr ? nullptr : this);
}

// Only whole pages: what a sequence goes on to write is no function of the tokens yet.
void PrefixTree::TellEviction(NodeId leaf) {
  if (At(leaf).end % kPage == 0) TellPage(leaf, pool_->PartsOf(At(leaf).page));
}

// Of a node that ends at the border of its page.
void PrefixTree::TellPage(NodeId node, const PageParts& parts) {
  const disk::PageKey before = KeyBefore(node);
  const disk::PageKey key = KeyOfPage(node);
  watcher_->Evicting(EvictedPage{.key = key,
                                 .before = before,
                                 .tokens = {TokensOf(At(node).page), static_cast<size_t>(kPage)},
                                 .parts = parts,
                                 .begin = At(node).end - kPage});
}

// The tail of a text stands in a page that is not whole, and is no function of its tokens yet.
void PrefixTree::LosingWindow(PageId page) {
  const NodeId node = whole_[static_cast<size_t>(page)];
  if (node == kNoNode) return;
  TellPage(node, {.full = kNoPage, .window = pool_->windows().Of(page)});
}

// A snapshot stands anywhere in a page, so the positions of its page up to there go with it: others
// know the page by its end only, or never had it whole.
void PrefixTree::TellStateEviction(NodeId place) {
  if (watcher_ == nullptr) return;
  const Node& node = At(place);
  const int64_t tail = node.end % kPage;
  const disk::PageKey before = tail == 0 ? KeyOfPage(place) : KeyBefore(place);
  watcher_->Evicting(EvictedState{.before = before,
                                  .tokens = {TokensOf(node.page), static_cast<size_t>(tail)},
                                  .state = SnapshotAt(place).slot.id(),
                                  .parts = pool_->PartsOf(node.page),
                                  .end = node.end});
}

// Of a node that ends at the border of its page.
disk::PageKey PrefixTree::KeyOfPage(NodeId node) {
  const disk::PageKey before = KeyBefore(node);
  std::optional<disk::PageKey>& key = keys_[static_cast<size_t>(node)];
  if (!key) key = disk::NextKey(before, {TokensOf(At(node).page), static_cast<size_t>(kPage)});
  return *key;
}

// The key of the page before that of `node`. Amortized O(1) a page.
disk::PageKey PrefixTree::KeyBefore(NodeId place) {
  keys_.resize(nodes_.size());
  unkeyed_.clear();
  const int64_t page = At(place).begin / kPage;
  disk::PageKey key;
  for (NodeId node = At(place).parent;; node = At(node).parent) {
    if (IsRoot(node)) {
      key = disk::FirstKey(identity_, static_cast<uint64_t>(At(node).space));
      break;
    }
    // Nodes that end inside a page, of this one and those before, have no key.
    if (At(node).end % kPage != 0 || At(node).begin / kPage >= page) continue;
    if (keys_[static_cast<size_t>(node)]) {
      key = *keys_[static_cast<size_t>(node)];
      break;
    }
    unkeyed_.push_back(node);
  }
  for (; !unkeyed_.empty(); unkeyed_.pop_back()) {
    const NodeId node = unkeyed_.back();
    key = disk::NextKey(key, {TokensOf(At(node).page), static_cast<size_t>(kPage)});
    keys_[static_cast<size_t>(node)] = key;
  }
  return key;
}

}  // namespace skald::kv
