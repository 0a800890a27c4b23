/// PrefixTree: which prefixes are computed, and in which pages they stand.
///
/// A radix tree. The path from a root to a node spells tokens at positions 0, 1, 2, ...; siblings
/// differ in their first token; tokens are compared, never hashes of them. Each namespace has a
/// root of its own, so nothing is ever found across namespaces.
///
/// Edges are cut at page borders: a node is a run of 1 to 32 positions [begin, end) of one page,
/// and names the page where they stand. Splits fall anywhere:
///
///     "the cat sat" is in page 7; then "the cat ran" arrives, with "ran" in page 9
///
///     root --- [the cat] page 7 -+- [sat] page 7
///                                +- [ran] page 9      page 9 holds a copy of "the cat" as well
///
///   - The page of a node also holds, at their places, all positions of the path before `begin`
///     that fall into the same 32. So of the nodes of one path within the same 32 positions, the
///     deepest names the page to read.
///   - A match may end anywhere; the node where it ends is split there.
///   - A node that branches no more and that nobody holds is merged into its only child.
///   - A node that ends inside a page and has children names the page of one of them, which has all
///     that its own would have. So n branches of the same 32 positions take n pages, however many
///     came and went, and a conversation that grows by turns leaves no half-filled pages behind.
///
/// The tree holds cache references of its pages (kv/page_pool.h). Which later positions of a page
/// may still be written, and by whom, is the rule in kv/page_table.h; the tree only ever sees
/// positions that are computed.
///
/// For a network whose layers carry a state, a node may also hold one: a snapshot, a slot with what
/// they carry behind the last token of the node. Such a network goes on only from where one stands
/// (AcquireState). A snapshot lives as long as its node; there are fewer than nodes, so they are
/// also evicted by themselves, least worth first (EvictState). The path below one that is gone
/// stays: it says where texts part, and which pages need not be kept twice.
///
/// Where there are window pages (kv/window_pool.h), a page of the tree may have lost its own. A
/// match then ends at the last token behind which a sequence can go on: where all pages that the
/// next row sees have theirs. Who computes the rest again brings pages that have, and the tree
/// takes these instead of its own.
///
/// A Pin protects a node and its ancestors from eviction. Everything else is in a list ordered by
/// last use, children always before their parents, so that the oldest is a leaf: eviction takes it
/// from the tail of a path, page by page.
///
/// Memory: 32 tokens and two nodes for each page of the pool, taken at construction, and one node
/// for each pin, snapshot and namespace beyond. There are never more: each leaf, and each node that
/// ends at a page border, has a page to itself, and all others branch, or are pinned, or hold a
/// snapshot, or are roots.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "disk/page_key.h"
#include "kv/child_index.h"
#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "kv/state_pool.h"
#include "skald/cache_view.h"
#include "skald/ids.h"

namespace skald::kv {

/// Requests share prefixes within a namespace only. The caller derives the number.
enum class Namespace : uint64_t {};

/// A page whose 32 positions are all computed, as eviction finds it; or its window page alone,
/// which goes before the page does.
struct EvictedPage {
  const disk::PageKey& key;
  const disk::PageKey& before;
  std::span<const TokenId> tokens;  ///< of the page
  PageParts parts = {};             ///< those that go: of the window group perhaps lost already
  int64_t begin = 0;                ///< tokens before it
};

/// A snapshot, as eviction finds it.
struct EvictedState {
  const disk::PageKey& before;      ///< of the last whole page before its place
  std::span<const TokenId> tokens;  ///< behind that page, fewer than 32, perhaps none
  StateId state = kNoState;
  PageParts parts = {};  ///< where K and V of these tokens stand, if they do in the window group
  int64_t end = 0;       ///< tokens up to its place
};

/// Hears of what the tree gives up, to keep it elsewhere.
class EvictionWatcher {
 public:
  virtual ~EvictionWatcher() = default;
  /// The page, or the snapshot, stands as it is until the call returns.
  virtual void Evicting(const EvictedPage& page) = 0;
  virtual void Evicting(const EvictedState& state) = 0;
};

/// Not thread-safe: the engine thread owns it. The pool must outlive the tree, and the tree its
/// pins. Not movable, because pins point to it.
class PrefixTree : private WindowWatcher {
 public:
  /// A place in the tree: the end of the tokens that a sequence has matched or inserted. While it
  /// lives, no node on the way there is evicted. Move-only; releases itself.
  class Pin {
   public:
    Pin() = default;
    ~Pin() { Release(); }
    Pin(Pin&& other) noexcept;
    Pin& operator=(Pin&& other) noexcept;
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    /// Number of tokens from the root to here; 0 for a pin of nothing.
    int64_t tokens() const;
    /// A second pin of the same place, for a sequence that forks. O(path).
    Pin Fork() const;
    /// Lets go; the place counts as used just now. The pin holds nothing then. O(path).
    void Release();

    /// The snapshot that AcquireState found, as long as this pin keeps it from being evicted.
    StateId state() const;
    /// Keeps the place, but no snapshot there.
    void ReleaseState();

   private:
    friend class PrefixTree;
    PrefixTree* tree_ = nullptr;
    NodeId node_ = kNoNode;
    bool holds_state_ = false;
  };

  /// Names the snapshot that a sequence has left behind for itself; 0: none.
  using Ticket = int64_t;
  static constexpr Ticket kNoTicket = 0;

  /// An empty tree for the pages of `pool`, and at most `state_slots` snapshots.
  explicit PrefixTree(PagePool* pool, int64_t state_slots = 0);
  /// Gives all pages back. No pin may be alive.
  ~PrefixTree() override;
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// How many leading tokens are computed and cached, and can be gone on from. Only looks: for
  /// planning. The answer holds until the next Insert or Evict, or until a window page is taken.
  /// O(tokens).
  int64_t Match(Namespace space, std::span<const TokenId> tokens) const;

  /// Matches, pins the end of the match, and fills `*table`, which must be empty, with the pages
  /// of the matched positions, one reference each. A caller that needs logits of the last token
  /// passes all tokens but that one. Returns the pin, which stands for pin.tokens() tokens, perhaps
  /// none. O(tokens).
  Pin Acquire(Namespace space, std::span<const TokenId> tokens, PageTable* table);

  /// What of a prefix stands in pages, whether or not anybody can go on from there.
  struct Known {
    int64_t tokens = 0;
    std::vector<bool> windows = {};  ///< by page of these: it has its window page
  };
  /// For whoever brings back what was kept elsewhere, as the two below. O(tokens).
  Known Look(Namespace space, std::span<const TokenId> tokens) const;
  /// As Acquire, of all these; window pages are left alone (PageTable::AdoptUnseen). O(tokens).
  Pin AcquirePages(Namespace space, std::span<const TokenId> tokens, PageTable* table);
  /// The page with the last of `tokens`, not none, if the tree knows all of them; else kNoPage.
  /// O(tokens).
  PageId PageOf(Namespace space, std::span<const TokenId> tokens) const;

  /// Says that the tokens behind `*pin` are computed and stand in `table` at the positions
  /// [pin->tokens(), pin->tokens() + tokens.size()); moves the pin to their end. Call it after each
  /// step, with the tokens of the step that will stay. From then on others match them, up to the
  /// last one, and `table` may not write them again (it does go on writing behind them in place).
  /// Where the tree has some of the tokens already, it keeps its own pages, if they have window
  /// pages or need none, and `table` keeps its own as well. May free a page that has become a
  /// duplicate. O(tokens.size()).
  void Insert(Pin* pin, std::span<const TokenId> tokens, PageTable* table);

  /// Gives the tree and `table`, which both have the tokens of `pin`, one page for each whole page
  /// of these: the tree's, unless only the other has the window page that the table needs. For a
  /// pool with window pages. May free pages. O(pages).
  void Unite(const Pin& pin, PageTable* table);

  /// Removes unpinned nodes, least recently used first, leaves only, until `wanted` pages have
  /// become free or none is left. Returns how many have: a page that a sequence refers to is not
  /// freed and not counted. At least min(wanted, pool.evictable_count()). Amortized O(1) a page.
  int64_t Evict(int64_t wanted);

  /// As Match and Acquire, for a network with states: up to the last place with a snapshot, which
  /// the pin then keeps. O(tokens).
  int64_t MatchState(Namespace space, std::span<const TokenId> tokens) const;
  Pin AcquireState(Namespace space, std::span<const TokenId> tokens, PageTable* table);

  /// Leaves a state at `pin`: `slot` must hold what stands behind exactly pin.tokens() > 0 tokens.
  /// Where there is one already that one stays, and `slot` goes back to its pool.
  void PutState(const Pin& pin, StateSlot slot);
  /// The same for a sequence that gives up its place and comes back: evicted only when nothing else
  /// is left. Returns kNoTicket where another one waits for the snapshot there already.
  Ticket ParkState(const Pin& pin, StateSlot slot);
  /// Whoever has the ticket has come back, or ends: nobody waits for that snapshot any more.
  void Unpark(Ticket ticket);
  /// The snapshot that `*pin` keeps, taken out of the tree, if no other pin keeps it; else none.
  StateSlot TakeState(Pin* pin);
  /// True if a snapshot stands at `pin`, whether or not it keeps it.
  bool HasState(const Pin& pin) const { return At(pin.node_).snapshot != kNoSnapshot; }
  /// True if the snapshot that `pin` keeps is that of the ticket.
  bool IsParked(const Pin& pin, Ticket ticket) const;

  /// Takes the snapshot of least worth that no pin keeps out of the tree, those nobody waits for
  /// first. Worth is what would be computed again without it: tokens behind the place before, by
  /// age. O(snapshots, and the nodes of their paths). None if all are kept.
  StateSlot EvictState();
  /// As EvictState, but none if that would cost more than `tokens` that are used just now, or if
  /// somebody waits for it.
  StateSlot EvictStateFor(int64_t tokens);

  /// From now on `watcher` hears of each whole page and each snapshot before it is evicted, and of
  /// window pages at places that go before their pages do, with keys that begin with `identity`;
  /// null ends it. To be called while the tree is empty, or at the end.
  void WatchEvictions(EvictionWatcher* watcher, const disk::PageKey& identity);

  int64_t snapshot_count() const { return static_cast<int64_t>(snapshots_.size()); }

  /// A snapshot as tests see it: the slot, how many tokens it stands behind, who waits for it, the
  /// pages of the tokens.
  struct SnapshotView {
    StateId state = kNoState;
    int64_t tokens = 0;
    Ticket ticket = kNoTicket;
    std::vector<PageId> pages;
  };
  std::vector<SnapshotView> Snapshots() const;

  /// The widest edges, for people who look. O(nodes), with memory of its own.
  PrefixView View() const;

  /// Nodes in use, roots included.
  int64_t node_count() const;
  /// Tokens that can be matched, all paths together; a shared prefix counts once.
  int64_t token_count() const { return token_count_; }

  /// Walks everything, the pool included. Empty if all is well, else one line that says what is
  /// wrong. O(nodes + pages). For tests and debug builds.
  std::string CheckIntegrity() const;

 private:
  static constexpr int32_t kNoSnapshot = -1;

  struct Snapshot {
    StateSlot slot;
    NodeId node = kNoNode;
    int32_t holds = 0;  // pins that keep it
    int64_t used = 0;   // state_clock_ when it was left or taken last
    Ticket ticket = kNoTicket;
  };
  struct Node {
    NodeId parent = kNoNode;       // kNoNode: a root
    NodeId first_child = kNoNode;  // children: a doubly linked list, in no order
    NodeId next_sibling = kNoNode;
    NodeId previous_sibling = kNoNode;
    NodeId older = kNoNode;          // neighbours in the list by last use,
    NodeId newer = kNoNode;          // which holds all nodes without pins below, but the roots
    PageId page = 0;                 // unused in a root
    int32_t pins = 0;                // that end here
    int32_t pins_below = 0;          // that end here or in a descendant
    int32_t snapshot = kNoSnapshot;  // in snapshots_
    int64_t begin = 0;               // first position
    int64_t end = 0;                 // one past the last; a root has none: 0
    Namespace space = {};            // of a root
    bool used = false;               // false: on the free list
  };
  // The child behind a node that agrees with some tokens, and on how many.
  struct Step {
    NodeId child = kNoNode;
    int64_t common = 0;
  };

  Node& At(NodeId node) { return nodes_[static_cast<size_t>(node)]; }
  const Node& At(NodeId node) const { return nodes_[static_cast<size_t>(node)]; }
  bool IsRoot(NodeId node) const { return At(node).parent == kNoNode; }
  // The 32 tokens of a page; those at positions that no node covers are meaningless.
  TokenId* TokensOf(PageId page);
  const TokenId* TokensOf(PageId page) const;
  // The tokens of a node.
  std::span<const TokenId> RunOf(NodeId node) const;
  // The key under which a node is found.
  EdgeKey KeyOf(NodeId node) const;

  // prefix_tree.cc: what callers ask for.
  Step NextStep(NodeId node, std::span<const TokenId> tokens) const;
  template <typename Visit>
  void Follow(Namespace space, std::span<const TokenId> tokens, const Visit& visit) const;
  int64_t Descend(Pin* pin, std::span<const TokenId> tokens, const PageTable* table = nullptr);
  int64_t Append(Pin* pin, std::span<const TokenId> tokens, PageId page);
  void PathTo(const Pin& pin);
  void StepDown(Pin* pin, NodeId child);
  Pin PinAt(NodeId node);
  void Unpin(NodeId node);

  // prefix_tree_nodes.cc: changes of the shape. Each keeps links, index, list and references right.
  NodeId NewNode();
  void FreeNode(NodeId node);
  NodeId RootOf(Namespace space);
  void RemoveRootIfUnused(NodeId root);
  NodeId AddChild(NodeId parent, std::span<const TokenId> run, PageId page);
  void GrowLeaf(NodeId leaf, std::span<const TokenId> run, PageId page);
  NodeId Split(NodeId node, int64_t length);
  void MergeIntoOnlyChild(NodeId node);
  void RemoveLeaf(NodeId leaf);
  void WriteTokens(NodeId before, std::span<const TokenId> run, PageId page);
  void TakePage(NodeId node, PageId page);
  void DropPage(NodeId node);
  void ChangePage(NodeId node, PageId page);
  void RenewPage(NodeId node, const PageTable& table);
  void NamePage(NodeId node, PageId page);
  void LinkChild(NodeId parent, NodeId child);
  void UnlinkChild(NodeId child);
  void TakePlaceOf(NodeId node, NodeId replaced);
  void ListInsert(NodeId node, NodeId older_neighbour);
  void ListRemove(NodeId node);

  // prefix_tree_states.cc
  Snapshot& SnapshotAt(NodeId node) { return snapshots_[static_cast<size_t>(At(node).snapshot)]; }
  int64_t TokensSinceState(NodeId node) const;
  double WorthOf(const Snapshot& snapshot) const;
  NodeId LeastWorth() const;
  StateSlot DropSnapshot(NodeId node);

  // prefix_tree_keys.cc
  void TellEviction(NodeId leaf);
  void TellPage(NodeId node, const PageParts& parts);
  void LosingWindow(PageId page) override;
  void TellStateEviction(NodeId node);
  disk::PageKey KeyOfPage(NodeId node);
  disk::PageKey KeyBefore(NodeId node);

  // prefix_tree_view.cc
  struct ViewScratch {
    std::vector<int64_t> below;  // by node: tokens of it and of all behind it
    std::vector<float> age;      // ViewedEdge::age
  };
  void CountBelow(NodeId root, std::vector<int64_t>* below) const;
  std::pair<ViewedEdge, NodeId> EdgeFrom(NodeId node) const;
  void ViewRoot(NodeId root, int64_t most, const ViewScratch& scratch, PrefixView* view) const;

  // prefix_tree_check.cc
  std::string CheckNode(NodeId node) const;
  std::string CheckChildren(NodeId node) const;
  std::string CheckList() const;
  std::string CheckPages() const;
  std::string CheckSnapshots() const;
  std::vector<PageId> PagesTo(NodeId node) const;

  PagePool* pool_;
  std::vector<Node> nodes_;
  std::vector<NodeId> free_nodes_;
  ChildIndex index_;             // every node, by where it hangs and what it starts with
  std::vector<TokenId> tokens_;  // 32 a page: what stands at its positions
  std::vector<NodeId> whole_;    // by page: the node that ends at its border, if one does
  std::vector<PageId> path_;     // scratch of Acquire
  NodeId oldest_ = kNoNode;
  NodeId newest_ = kNoNode;
  int64_t token_count_ = 0;
  std::vector<Snapshot> snapshots_;  // in no order
  int64_t state_clock_ = 0;          // counts the uses of snapshots
  EvictionWatcher* watcher_ = nullptr;
  disk::PageKey identity_;
  // By node, of those that end at a page border, where somebody asked: the key of their page. What
  // such a node stands for never changes while it lives.
  std::vector<std::optional<disk::PageKey>> keys_;
  std::vector<NodeId> unkeyed_;  // scratch of KeyBefore
};

}  // namespace skald::kv
