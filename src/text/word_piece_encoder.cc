#include "text/word_piece_encoder.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace skald::text {

namespace {

constexpr size_t kMaxWordCharacters = 100;
constexpr uint32_t kReplacement = 0xFFFD;

// The blocks of ideographs that BERT knew; U+2B920 is Hugging Face's (the block begins at U+2B820).
bool IsChinese(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// The ASCII characters that are neither letters nor digits count, symbols among them.
bool IsBertPunctuation(uint32_t c) {
  const bool ascii = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
                     (c >= '{' && c <= '~');
  return ascii || IsPunctuation(c);
}

// As the vocabulary has it, where U+2581 is a space (space_mark.h).
void AppendSpelled(uint32_t letter, std::string* out) {
  constexpr uint32_t kMark = 0x2581;
  AppendUtf8(letter == kMark ? ' ' : letter, out);
}

std::vector<TokenTrie::Entry> Entries(const Vocab& vocab) {
  std::vector<TokenTrie::Entry> entries;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.Matchable(id)) entries.push_back({vocab.Bytes(id), id});
  }
  return entries;
}

bool IsDropped(uint32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0 || c == kReplacement || IsControl(c);
}

}  // namespace

WordPieceEncoder::WordPieceEncoder(const Vocab& vocab, TokenId unk)
    : vocab_(&vocab), unk_(unk), trie_(Entries(vocab)) {}

Result<WordPieceEncoder> WordPieceEncoder::Create(const TokenizerSpec& spec, const Vocab& vocab,
                                                  TokenId unk) {
  if (unk == kNoToken) {
    return Status(ErrorCode::kBadModel,
                  "a WordPiece vocabulary needs an unknown token ([UNK]), and there is no "
                  "unknown_token_id");
  }
  WordPieceEncoder encoder(vocab, unk);
  encoder.lower_case_ = spec.lower_case.value_or(true);
  encoder.strip_accents_ = spec.strip_accents.value_or(encoder.lower_case_);
  return encoder;
}

// What a character becomes: nothing, for an accent.
void WordPieceEncoder::AppendNormalized(uint32_t code_point, std::vector<uint32_t>* out) const {
  std::vector<uint32_t> letters = {code_point};
  if (strip_accents_ && code_point >= 0x80) {
    letters.clear();
    AppendDecomposition(code_point, &letters);
    std::erase_if(letters, IsNonspacingMark);
  }
  for (const uint32_t letter : letters) {
    if (lower_case_) {
      AppendLowerCase(letter, out);
    } else {
      out->push_back(letter);
    }
  }
}

// Bytes of the longest token that `text` begins with, 0 if there is none.
size_t WordPieceEncoder::LongestToken(std::string_view text, TokenId* id) const {
  size_t longest = 0;
  TokenTrie::Node node = TokenTrie::kRoot;
  for (size_t at = 0; at < text.size();) {
    node = trie_.Child(node, static_cast<uint8_t>(text[at++]));
    if (node == TokenTrie::kNone) break;
    const TokenId token = trie_.Token(node);
    if (token == kNoToken || !vocab_->Matchable(token)) continue;
    *id = token;
    longest = at;
  }
  return longest;
}

void WordPieceEncoder::Finish(Word* word, std::vector<TokenId>* out) const {
  if (word->characters == 0) return;
  const size_t size_before = out->size();
  std::string_view rest = word->bytes;
  bool spelled = word->characters <= kMaxWordCharacters;
  while (spelled && !rest.empty()) {
    TokenId id = kNoToken;
    const size_t length = LongestToken(rest, &id);
    // A token that is the space alone has spelled nothing of the word.
    spelled = length > (rest.size() == word->bytes.size() ? 1u : 0u);
    if (!spelled) break;
    out->push_back(id);
    rest.remove_prefix(length);
  }
  if (!spelled) {
    out->resize(size_before);
    out->push_back(unk_);
  }
  word->bytes.clear();
  word->characters = 0;
}

Status WordPieceEncoder::Encode(std::string_view text, MergeScratch* scratch,
                                std::vector<TokenId>* out) const {
  Word word;
  std::vector<uint32_t> letters;
  const auto add = [&word](uint32_t letter) {
    if (++word.characters == 1) word.bytes.push_back(' ');  // what Finish has left is empty
    // Of a longer word nothing but its length is asked.
    if (word.characters <= kMaxWordCharacters) AppendSpelled(letter, &word.bytes);
  };
  while (!text.empty()) {
    const Utf8Sequence first = ReadUtf8(text);
    text.remove_prefix(static_cast<size_t>(first.length));
    if (!scratch->pace.Go(static_cast<size_t>(first.length))) return Pace::Stopped();
    if (first.kind != Utf8Sequence::Kind::kWellFormed || IsDropped(first.code_point)) continue;
    const bool chinese = IsChinese(first.code_point);
    if (chinese || IsWhiteSpace(first.code_point)) Finish(&word, out);
    if (IsWhiteSpace(first.code_point)) continue;
    letters.clear();
    AppendNormalized(first.code_point, &letters);
    for (const uint32_t letter : letters) {
      const bool alone = IsBertPunctuation(letter);
      if (alone) Finish(&word, out);
      add(letter);
      if (alone) Finish(&word, out);
    }
    if (chinese) Finish(&word, out);
  }
  Finish(&word, out);
  return Ok();
}

}  // namespace skald::text
