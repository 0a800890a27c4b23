/// PageKey: what a page of K and V is a function of, as 32 bytes.
///
/// With equal bits everywhere, a page depends on the model, how it computes, how K and V are kept,
/// whose prefix it is, and the tokens before and in it, and on nothing else. So it may be kept
/// anywhere, and be found again by these. Keys are a chain: that of a page covers the key before
/// it, which covers all tokens before.
///
///     first key = SHA-256("skald pages 1\n", SHA-256(identity), namespace (uint64))
///     next key  = SHA-256(key before, the 32 tokens (int32 each))
///
/// Numbers are little-endian. Who can choose tokens cannot choose keys: to meet the key of another
/// namespace's page takes a collision of SHA-256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "skald/ids.h"

namespace skald::disk {

/// Positions of a page: kernels::kPageTokens, which rooms to the right compare with this.
inline constexpr int64_t kKeyTokens = 32;

/// What stands in a record need not be a page. A record whose last token is kNoToken is of a tail:
/// of the tokens behind whole pages, fewer than a page has, filled up with kNoToken. That is where
/// states of recurrent layers stand.
inline bool IsTail(std::span<const TokenId> tokens) { return tokens.back() == kNoToken; }

struct PageKey {
  std::array<char, 32> bytes = {};

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  bool operator==(const PageKey&) const = default;
};

/// For tables: any eight bytes of a SHA-256 are as good as any others.
struct PageKeyHash {
  size_t operator()(const PageKey& key) const {
    size_t hash = 0;
    std::memcpy(&hash, key.bytes.data(), sizeof(hash));
    return hash;
  }
};

/// SHA-256 of a text that says all that is the same for all pages of an engine.
PageKey IdentityKey(std::string_view identity);
/// What the keys of a namespace begin with; it names no page.
PageKey FirstKey(const PageKey& identity, uint64_t space);
/// The key of the page with these kKeyTokens tokens, behind the page of `before`.
PageKey NextKey(const PageKey& before, std::span<const TokenId> tokens);

}  // namespace skald::disk
