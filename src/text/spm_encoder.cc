#include "text/spm_encoder.h"

#include <bit>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/space_mark.h"

namespace skald::text {

namespace {

// Scores as ranks: the higher the score, the smaller the number. The bits of an IEEE float, with
// the sign folded in, order as the values do; -0 counts as 0.
uint32_t RankOfScore(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0f);
  const uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

bool HasInnerSpace(std::string_view token) {
  const size_t first_word = token.find_first_not_of(' ');
  return first_word != std::string_view::npos &&
         token.find(' ', first_word) != std::string_view::npos;
}

}  // namespace

SpmEncoder::SpmEncoder(const Vocab& vocab, TokenId unk, SpacePrefix prefix)
    : vocab_(&vocab), unk_(unk), prefix_(prefix), words_are_separate_(true) {
  for (TokenId id = 0; id < vocab.size() && words_are_separate_; ++id) {
    if (vocab.Matchable(id) && HasInnerSpace(vocab.Bytes(id))) words_are_separate_ = false;
  }
}

Status SpmEncoder::Encode(std::string_view text, MergeScratch* scratch,
                          std::vector<TokenId>* out) const {
  std::string spaced = prefix_ == SpacePrefix::kAdd ? " " : "";
  AppendWithSpaces(text, &spaced);
  text = spaced;
  if (!words_are_separate_) return EncodeSegment(text, scratch, out);
  // No merge can join a word and the space after it, so words are independent. Taking them one by
  // one gives the same tokens from a small heap that stays in the cache.
  while (!text.empty()) {
    size_t end = text.find_first_not_of(' ');
    end = end == std::string_view::npos ? text.size() : text.find(' ', end);
    const std::string_view word = text.substr(0, end);
    RETURN_IF_ERROR(EncodeSegment(word, scratch, out));
    text.remove_prefix(word.size());
  }
  return Ok();
}

Status SpmEncoder::EncodeSegment(std::string_view text, MergeScratch* scratch,
                                 std::vector<TokenId>* out) const {
  if (text.empty()) return Ok();
  std::vector<Symbol>& symbols = scratch->symbols;
  symbols.clear();
  if (!scratch->pace.Go(text.size())) return Pace::Stopped();
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = ReadUtf8(text.substr(at));
    const size_t length =
        sequence.kind == Utf8Sequence::Kind::kWellFormed ? static_cast<size_t>(sequence.length) : 1;
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({.begin = static_cast<int32_t>(at),
                       .length = static_cast<int32_t>(length),
                       .prev = index - 1,
                       .next = index + 1,
                       .id = vocab_->FindMatchable(text.substr(at, length))});
    at += length;
  }
  symbols.back().next = -1;

  const bool merged = MergeSymbols(
      [this, text](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
        const TokenId id = vocab_->FindMatchable(text.substr(
            static_cast<size_t>(left.begin), static_cast<size_t>(left.length + right.length)));
        if (id == kNoToken) return std::nullopt;
        return Merge{RankOfScore(vocab_->Score(id)), id};
      },
      scratch);
  if (!merged) return Pace::Stopped();

  for (int32_t i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
    const Symbol& symbol = symbols[static_cast<size_t>(i)];
    AppendSymbol(text.substr(static_cast<size_t>(symbol.begin), static_cast<size_t>(symbol.length)),
                 symbol.id, out);
  }
  return Ok();
}

void SpmEncoder::AppendSymbol(std::string_view bytes, TokenId id, std::vector<TokenId>* out) const {
  if (id != kNoToken) {
    out->push_back(id);
    return;
  }
  const size_t size_before = out->size();
  for (const char c : bytes) {
    const TokenId byte = vocab_->ByteToken(static_cast<uint8_t>(c));
    if (byte == kNoToken) {
      out->resize(size_before);
      if (unk_ != kNoToken) out->push_back(unk_);
      return;
    }
    out->push_back(byte);
  }
}

}  // namespace skald::text
