#include "grammar/token_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "grammar/common_masks.h"

namespace skald::grammar {

namespace {

// Of most vocabularies nine tenths of the plain ones are not longer: they are taken whole while a
// string of bounded length has room for so many characters.
constexpr uint32_t kShortCharacters = 10;

void Set(TokenId token, std::vector<uint64_t>* mask) {
  (*mask)[token >> 6] |= uint64_t{1} << (token & 63);
}

void SetMask(const std::vector<TokenText>& tokens, size_t words, TokenSlice* slice) {
  slice->mask.resize(words);
  slice->fewest = PlainCharacters(tokens.front().bytes);
  for (const TokenText& token : tokens) {
    Set(token.id, &slice->mask);
    const uint32_t characters = PlainCharacters(token.bytes);
    slice->characters = std::max(slice->characters, characters);
    slice->fewest = std::min(slice->fewest, characters);
  }
}

// For texts of bounded length, near their ends: some 30 KiB for each length.
void SetShorter(const std::vector<TokenText>& tokens, TokenSlice* slice) {
  slice->shorter.assign(slice->characters - slice->fewest,
                        std::vector<uint64_t>(slice->mask.size()));
  for (const TokenText& token : tokens)
    for (size_t n = PlainCharacters(token.bytes) - slice->fewest; n < slice->shorter.size(); ++n)
      Set(token.id, &slice->shorter[n]);
}

}  // namespace

uint32_t PlainCharacters(std::string_view bytes) {
  uint32_t characters = 0;
  for (; !bytes.empty(); ++characters) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    if (sequence.kind != Utf8Sequence::Kind::kWellFormed) return 0;
    const uint32_t c = sequence.code_point;
    if (c < 0x20 || c == '"' || c == '\\') return 0;
    bytes.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return characters;
}

std::optional<std::span<const uint64_t>> TokenSlice::UpTo(uint32_t most) const {
  if (mask.empty()) return std::nullopt;
  if (most >= characters) return mask;
  if (most < fewest) return std::span<const uint64_t>();
  if (most - fewest >= shorter.size()) return std::nullopt;
  return shorter[most - fewest];
}

TokenTable::TokenTable(std::span<const std::string_view> token_bytes)
    : common_masks_(std::make_unique<CommonMasks>()) {
  enum { kShort, kLong, kRest };
  std::array<std::vector<TokenText>, 3> parts;
  offsets_.push_back(0);
  for (size_t i = 0; i < token_bytes.size(); ++i) {
    const std::string_view bytes = token_bytes[i];
    if (!bytes.empty() && bytes.size() <= TokenTrie::kTokenBytesMax) {
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      if (bytes.size() == 1) single_.set(static_cast<uint8_t>(bytes[0]));
      const uint32_t plain = PlainCharacters(bytes);
      const int part = plain == 0 ? kRest : plain <= kShortCharacters ? kShort : kLong;
      parts[part].push_back({bytes, static_cast<TokenId>(i)});
    }
    offsets_.push_back(bytes_.size());
  }
  const size_t words = (token_bytes.size() + 63) / 64;
  for (const int part : {kShort, kLong, kRest}) {
    if (parts[part].empty()) continue;
    TokenSlice slice;
    if (part != kRest) SetMask(parts[part], words, &slice);
    if (part == kShort) SetShorter(parts[part], &slice);
    slice.trie = TokenTrie(std::move(parts[part]));
    slices_.push_back(std::move(slice));
  }
}

TokenTable::~TokenTable() = default;

std::string_view TokenTable::BytesOf(TokenId token) const {
  if (token < 0 || token >= token_count()) return {};
  const auto index = static_cast<size_t>(token);
  return {bytes_.data() + offsets_[index], offsets_[index + 1] - offsets_[index]};
}

}  // namespace skald::grammar
