#include "grammar/token_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grammar/common_masks.h"

namespace skald::grammar {

namespace {

// Where slices of plain tokens end. Of most vocabularies nine tenths are not longer than the first
// number: they are taken whole while a string of bounded length has room for so many characters.
// Beyond the last one are few, some of them very long.
constexpr std::array<uint32_t, 2> kLengths = {10, 24};
constexpr size_t kSlicesOfAlphabet = kLengths.size() + 1;

// Short ones first; the last one is for what is no plain text.
constexpr size_t kRest = kAlphabetCount * kSlicesOfAlphabet;
size_t SliceOf(const std::optional<PlainText>& plain) {
  if (!plain) return kRest;
  const auto length = std::find_if(kLengths.begin(), kLengths.end(),
                                   [&](uint32_t most) { return plain->characters <= most; });
  return static_cast<size_t>(plain->alphabet) * kSlicesOfAlphabet +
         static_cast<size_t>(length - kLengths.begin());
}

void Set(TokenId token, std::vector<uint64_t>* mask) {
  (*mask)[token >> 6] |= uint64_t{1} << (token & 63);
}

// Tokens of one slice, with what they are as text.
struct Part {
  std::vector<TokenText> tokens;
  std::vector<uint32_t> characters;  // of each, if it is plain
};

void SetMask(const Part& part, size_t words, TokenSlice* slice) {
  slice->mask.resize(words);
  for (const TokenText& token : part.tokens) Set(token.id, &slice->mask);
  const auto [fewest, most] = std::minmax_element(part.characters.begin(), part.characters.end());
  slice->fewest = *fewest;
  slice->characters = *most;
}

// For texts of bounded length, near their ends: some 30 KiB for each length.
void SetShorter(const Part& part, TokenSlice* slice) {
  slice->shorter.assign(slice->characters - slice->fewest,
                        std::vector<uint64_t>(slice->mask.size()));
  for (size_t i = 0; i < part.tokens.size(); ++i)
    for (size_t n = part.characters[i] - slice->fewest; n < slice->shorter.size(); ++n)
      Set(part.tokens[i].id, &slice->shorter[n]);
}

}  // namespace

std::optional<std::span<const uint64_t>> TokenSlice::UpTo(uint32_t most) const {
  if (mask.empty()) return std::nullopt;
  if (most >= characters) return mask;
  if (most < fewest) return std::span<const uint64_t>();
  if (most - fewest >= shorter.size()) return std::nullopt;
  return shorter[most - fewest];
}

TokenTable::TokenTable(std::span<const std::string_view> token_bytes)
    : common_masks_(std::make_unique<CommonMasks>()) {
  std::array<Part, kRest + 1> parts;
  offsets_.push_back(0);
  for (size_t i = 0; i < token_bytes.size(); ++i) {
    const std::string_view bytes = token_bytes[i];
    if (!bytes.empty() && bytes.size() <= TokenTrie::kTokenBytesMax) {
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      if (bytes.size() == 1) single_.set(static_cast<uint8_t>(bytes[0]));
      const std::optional<PlainText> plain = PlainTextOf(bytes);
      Part& part = parts[SliceOf(plain)];
      part.tokens.push_back({bytes, static_cast<TokenId>(i)});
      if (plain) part.characters.push_back(plain->characters);
    }
    offsets_.push_back(bytes_.size());
  }
  const size_t words = (token_bytes.size() + 63) / 64;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].tokens.empty()) continue;
    TokenSlice slice;
    if (i != kRest) {
      slice.alphabet = static_cast<Alphabet>(i / kSlicesOfAlphabet);
      SetMask(parts[i], words, &slice);
      if (slice.characters <= kLengths.back()) SetShorter(parts[i], &slice);
    }
    slice.trie = TokenTrie(std::move(parts[i].tokens));
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
