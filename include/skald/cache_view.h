/// PageMap and PrefixView: what the KV cache looks like at one moment, for people who look at it.
/// Plain values of bounded size, whatever the pool and the tree. A part of skald/engine_view.h.
#pragma once

#include <cstdint>
#include <vector>

#include "skald/ids.h"
#include "skald/version.h"

namespace skald {

/// What a view holds at most, however large the cache is: it is made on the engine's thread, sent
/// and drawn up to ten times a second.
inline constexpr int64_t kMostPageCells = 2048;
inline constexpr int64_t kMostViewedRoots = 32;   ///< namespaces, the widest
inline constexpr int64_t kMostViewedEdges = 512;  ///< of all of them together, but
inline constexpr int64_t kLeastViewedEdges = 16;  ///< of each, if it has so many
inline constexpr int64_t kMostViewedTokens = 48;  ///< of an edge

/// Some neighbouring pages of the pool. Each page is one of four.
struct PageCell {
  int64_t free = 0;
  int64_t cached = 0;    ///< by the prefix tree alone
  int64_t held = 0;      ///< by one sequence
  int64_t shared = 0;    ///< by several sequences
  int32_t request = -1;  ///< one that holds some of them: index in EngineView::requests

  friend bool operator==(const PageCell&, const PageCell&) = default;
};

/// The pool, in the order of its pages.
struct PageMap {
  int64_t page_count = 0;
  int64_t pages_per_cell = 1;  ///< but of the last, which may have fewer
  std::vector<PageCell> cells = {};
};

/// A run of tokens in the prefix tree, up to the next place where texts part, a state stands, or
/// somebody is.
struct ViewedEdge {
  int32_t parent = -1;  ///< index of another edge, before it; -1: a root, which has no tokens
  uint64_t space = 0;   ///< of a root: Request::cache_namespace
  int64_t begin = 0;    ///< tokens before it
  int64_t end = 0;
  int64_t below = 0;       ///< tokens of it and of all edges behind it
  bool in_use = false;     ///< a sequence stands at its end or behind
  bool has_state = false;  ///< a snapshot of recurrent layers stands at its end
  /// Of those that nobody uses, how long ago: 0 the newest, 1 the next to be evicted.
  float age = 0;
  std::vector<TokenId> tokens = {};  ///< the first of them
};

/// The widest edges of each namespace, a root before its edges, an edge before those behind it.
struct PrefixView {
  int64_t token_count = 0;  ///< of all edges, viewed or not
  int64_t root_count = 0;   ///< the same of namespaces that have any
  std::vector<ViewedEdge> edges = {};
};

}  // namespace skald
