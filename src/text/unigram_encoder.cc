#include "text/unigram_encoder.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/space_mark.h"

namespace skald::text {

namespace {

constexpr float kUnknownPenalty = 10;

// The tokens that normalized text is made of. In user-defined ones U+2581 still is a space.
TokenTrie SpacedTrie(const Vocab& vocab) {
  std::vector<TokenTrie::Entry> entries;
  std::deque<std::string> spaced;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.Matchable(id)) continue;
    std::string_view bytes = vocab.Bytes(id);
    if (vocab.Type(id) == TokenType::kUserDefined) {
      AppendWithSpaces(bytes, &spaced.emplace_back());
      bytes = spaced.back();
    }
    entries.push_back({bytes, id});
  }
  return TokenTrie(std::move(entries));
}

TokenTrie UserDefinedTrie(const Vocab& vocab) {
  std::vector<TokenTrie::Entry> entries;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.Type(id) != TokenType::kUserDefined || vocab.Bytes(id).empty()) continue;
    entries.push_back({vocab.Bytes(id), id});
  }
  return TokenTrie(std::move(entries));
}

float FiniteScore(float score) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::clamp(score, -kMost, kMost);
}

}  // namespace

UnigramEncoder::UnigramEncoder(const Vocab& vocab, TokenId unk)
    : vocab_(&vocab), unk_(unk), trie_(SpacedTrie(vocab)), user_defined_(UserDefinedTrie(vocab)) {
  float least = 0;
  bool any = false;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.Type(id) != TokenType::kNormal) continue;
    least = any ? std::min(least, vocab.Score(id)) : vocab.Score(id);
    any = true;
  }
  unknown_score_ = FiniteScore(FiniteScore(least) - kUnknownPenalty);
}

Result<UnigramEncoder> UnigramEncoder::Create(const TokenizerSpec& spec, const Vocab& vocab,
                                              TokenId unk) {
  if (unk == kNoToken) {
    return Status(ErrorCode::kBadModel,
                  "a Unigram vocabulary needs an unknown token, and there is no unknown_token_id");
  }
  UnigramEncoder encoder(vocab, unk);
  if (!spec.precompiled_charsmap.empty()) {
    ASSIGN_OR_RETURN(encoder.charsmap_, Charsmap::Create(spec.precompiled_charsmap));
  }
  encoder.space_prefix_ = spec.add_space_prefix.value_or(true);
  encoder.merges_spaces_ = spec.remove_extra_whitespaces.value_or(true);
  return encoder;
}

// What the first *length bytes of `text` become; *length is 0 before.
std::string_view UnigramEncoder::NormalizedPrefix(std::string_view text, size_t* length) const {
  for (TokenTrie::Node node = TokenTrie::kRoot; *length < text.size(); ++*length) {
    node = user_defined_.Child(node, static_cast<uint8_t>(text[*length]));
    if (node == TokenTrie::kNone) break;
  }
  if (*length > 0) return text.substr(0, *length);
  const Charsmap::Match match = charsmap_.LongestPrefix(text);
  *length = match.length;
  if (match.length > 0) return match.replacement;
  const Utf8Sequence first = ReadUtf8(text);
  const bool character = first.kind == Utf8Sequence::Kind::kWellFormed;
  *length = character ? static_cast<size_t>(first.length) : 1;
  return character ? text.substr(0, *length) : kReplacementCharacter;
}

Result<std::string> UnigramEncoder::Normalize(std::string_view text, Pace* pace) const {
  std::string normalized;
  normalized.reserve(text.size() + 1);
  bool in_word = false;
  bool prefixed = !space_prefix_;
  while (!text.empty()) {
    size_t length = 0;
    for (const char c : NormalizedPrefix(text, &length)) {
      const bool space = c == ' ';
      if (!space && !in_word && (!prefixed || merges_spaces_)) {
        normalized.push_back(' ');
        prefixed = true;
      }
      if (!space || !merges_spaces_) normalized.push_back(c);
      in_word = !space;
    }
    if (!pace->Go(length)) return Pace::Stopped();
    if (normalized.size() > static_cast<size_t>(Tokenizer::kMaxTextBytes)) {
      return Status(ErrorCode::kResourceExhausted,
                    "text is too long to tokenize: normalized it has more than " +
                        std::to_string(Tokenizer::kMaxTextBytes) + " bytes");
    }
    text.remove_prefix(length);
  }
  std::string spaced;
  AppendWithSpaces(normalized, &spaced);
  return spaced;
}

// Improves the ways to where the tokens that begin at `begin` end.
void UnigramEncoder::Extend(std::string_view text, size_t begin, size_t character,
                            std::vector<Way>* ways) const {
  const double before = (*ways)[begin].score;
  const auto offer = [&](size_t end, double score, TokenId id) {
    Way& way = (*ways)[end];
    if (before + score > way.score) way = {before + score, static_cast<int32_t>(begin), id};
  };
  bool is_token = false;
  TokenTrie::Node node = TokenTrie::kRoot;
  for (size_t end = begin; end < text.size();) {
    node = trie_.Child(node, static_cast<uint8_t>(text[end++]));
    if (node == TokenTrie::kNone) break;
    const TokenId id = trie_.Token(node);
    if (id == kNoToken || !vocab_->Matchable(id)) continue;  // one may have become a control token
    is_token = is_token || end - begin == character;
    const bool user_defined = vocab_->Type(id) == TokenType::kUserDefined;
    offer(end, user_defined ? 0 : double{FiniteScore(vocab_->Score(id))}, id);
  }
  if (!is_token) offer(begin + character, double{unknown_score_}, unk_);
}

void UnigramEncoder::AppendUnknown(std::string_view bytes, std::vector<TokenId>* out) const {
  const size_t size_before = out->size();
  for (const char c : bytes) {
    out->push_back(vocab_->ByteToken(static_cast<uint8_t>(c)));
    if (out->back() != kNoToken) continue;
    out->resize(size_before);
    out->push_back(unk_);
    return;
  }
}

Status UnigramEncoder::Encode(std::string_view text, MergeScratch* scratch,
                              std::vector<TokenId>* out) const {
  ASSIGN_OR_RETURN(const std::string normalized, Normalize(text, &scratch->pace));
  const std::string_view rest = normalized;
  std::vector<Way> ways(rest.size() + 1, {-std::numeric_limits<double>::infinity(), 0, unk_});
  ways[0].score = 0;
  for (size_t at = 0; at < rest.size();) {
    const auto character = static_cast<size_t>(ReadUtf8(rest.substr(at)).length);
    if (!scratch->pace.Go(character)) return Pace::Stopped();
    Extend(rest, at, character, &ways);
    at += character;
  }
  std::vector<size_t> ends;  // of the tokens, the last one first
  for (size_t end = rest.size(); end > 0; end = static_cast<size_t>(ways[end].begin)) {
    ends.push_back(end);
  }
  size_t unknown_begin = 0;
  for (size_t i = ends.size(); i > 0; --i) {
    const size_t end = ends[i - 1];
    if (ways[end].id != unk_) {
      out->push_back(ways[end].id);
      unknown_begin = end;
    } else if (i == 1 || ways[ends[i - 2]].id != unk_) {
      AppendUnknown(rest.substr(unknown_begin, end - unknown_begin), out);
      unknown_begin = end;
    }
  }
  return Ok();
}

}  // namespace skald::text
