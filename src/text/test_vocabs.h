/// Small vocabularies of both families, and the definition of BPE taken literally: for the tests
/// and fuzzers of this room.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/ids.h"
#include "text/byte_level.h"
#include "text/tokenizer_spec.h"

namespace skald::text {

/// A TokenizerSpec that owns its strings.
struct OwnedSpec {
  TokenizerSpec fields = {};  // all but tokens and merges
  std::vector<std::string> tokens = {};
  std::vector<std::string> merges = {};

  TokenId Add(std::string token, int64_t type, float score = 0) {
    tokens.push_back(std::move(token));
    fields.types.push_back(type);
    fields.scores.push_back(score);
    return static_cast<TokenId>(tokens.size()) - 1;
  }
  /// Points into this object.
  TokenizerSpec spec() const {
    TokenizerSpec result = fields;
    result.tokens.assign(tokens.begin(), tokens.end());
    result.merges.assign(merges.begin(), merges.end());
    return result;
  }
};

/// "llama": <unk> <s> </s>, 256 byte tokens (3 to 258), then words over a, b, c and spaces, one
/// two-byte and one four-byte letter, the user-defined <tool> and the control <|im_end|>.
inline OwnedSpec SmallSentencePiece() {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  OwnedSpec owned;
  owned.fields.model = "llama";
  owned.fields.ids = {.bos = 1, .eos = 2, .unk = 0};
  owned.Add("<unk>", 2);
  owned.Add("<s>", 3);
  owned.Add("</s>", 3);
  for (size_t byte = 0; byte < 256; ++byte) {
    owned.Add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", 6);
  }
  const std::string space = "\xE2\x96\x81";
  float score = 0;
  for (const std::string& word : {std::string("aa"),
                                  std::string("ab"),
                                  space + "a",
                                  space + space,
                                  std::string("aaaa"),
                                  std::string("bc"),
                                  std::string("abc"),
                                  space + "ab",
                                  space + "abc",
                                  space + space + space + space,
                                  std::string("ca"),
                                  std::string("cab"),
                                  std::string("bb"),
                                  std::string("a"),
                                  std::string("b"),
                                  std::string("c"),
                                  space,
                                  std::string("\xC3\xA9"),
                                  std::string("\xC3\xA9\xC3\xA9"),
                                  std::string("\xF0\x9F\x98\x80"),
                                  std::string("<"),
                                  std::string("\n")}) {
    owned.Add(word, 1, score);
    score -= 1;
  }
  owned.Add("<tool>", 4);
  owned.Add("<|im_end|>", 3);
  return owned;
}

/// "gpt2": the 256 bytes (0 to 255), merges over a, b, c, spaces, newlines, digits and parts of two
/// letters, the user-defined <tool> and the control <|endoftext|>.
inline OwnedSpec SmallByteLevel(std::string_view pre) {
  OwnedSpec owned;
  owned.fields.model = "gpt2";
  owned.fields.pre = pre;
  for (int byte = 0; byte < 256; ++byte) {
    owned.Add(ByteLevelCharacter(static_cast<unsigned char>(byte)), 1);
  }
  const auto spell = [](std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += ByteLevelCharacter(static_cast<unsigned char>(c));
    return text;
  };
  const std::pair<std::string_view, std::string_view> merges[] = {
      {"a", "a"},       {"a", "b"},       {" ", "a"},    {" ", " "},        {"aa", "aa"},
      {"b", "c"},       {"ab", "c"},      {" a", "b"},   {" ab", "c"},      {"  ", "  "},
      {"c", "a"},       {"ca", "b"},      {"\n", "\n"},  {"\n\n", "\n\n"},  {"1", "2"},
      {"12", "3"},      {"\xC3", "\xA9"}, {" ", "\xC3"}, {"\xC3\xA9", "a"}, {"\x9F", "\x98"},
      {"\xF0", "\x9F"}, {"'", "s"},       {"a", "abc"},  {"\xE2", "\x96"},
  };
  for (const auto& [left, right] : merges) {
    const std::string joined = spell(left) + spell(right);
    bool known = false;
    for (const std::string& token : owned.tokens) known = known || token == joined;
    if (!known) owned.Add(joined, 1);
    owned.merges.push_back(spell(left) + " " + spell(right));
  }
  owned.Add("<tool>", 4);
  owned.fields.ids.eos = owned.Add("<|endoftext|>", 3);
  owned.fields.scores.clear();
  return owned;
}

/// "gemma4": SmallSentencePiece with merges over what it has, and runs of newlines that no merge
/// forms.
inline OwnedSpec SmallWholeLines() {
  OwnedSpec owned = SmallSentencePiece();
  owned.fields.model = "gemma4";
  owned.fields.add_bos = false;
  owned.fields.scores.clear();
  const std::string space = "\xE2\x96\x81";
  const std::string accent = "\xC3\xA9";
  for (const auto& [left, right] :
       std::initializer_list<std::pair<std::string, std::string>>{{"a", "a"},
                                                                  {"a", "b"},
                                                                  {space, "a"},
                                                                  {space, space},
                                                                  {"aa", "aa"},
                                                                  {"b", "c"},
                                                                  {"ab", "c"},
                                                                  {space + "a", "b"},
                                                                  {space + "ab", "c"},
                                                                  {space + space, space + space},
                                                                  {"c", "a"},
                                                                  {"ca", "b"},
                                                                  {"b", "b"},
                                                                  {accent, accent}}) {
    owned.merges.push_back(left + " " + right);
  }
  for (size_t count = 2; count <= 4; ++count) {
    owned.tokens.push_back(std::string(count, '\n'));
    owned.fields.types.push_back(1);
  }
  return owned;
}

/// "t5": <pad> </s> <unk>, then words over a, b, c and spaces.
inline OwnedSpec SmallUnigram() {
  OwnedSpec owned;
  owned.fields.model = "t5";
  owned.Add("<pad>", 3);
  owned.Add("</s>", 3);
  owned.Add("<unk>", 2);
  const std::string space = "\xE2\x96\x81";
  owned.Add(space, 1, -2);
  owned.Add("a", 1, -2);
  owned.Add("b", 1, -3);
  owned.Add("c", 1, -3);
  owned.Add(space + "a", 1, -3);
  owned.Add(space + "ab", 1, -2);
  owned.Add("bc", 1, -2.5f);
  owned.Add("aa", 1, -3);
  owned.Add("aaa", 1, -6);
  return owned;
}

/// "bert": [PAD] [UNK] [CLS] [SEP], then words of a few letters.
inline OwnedSpec SmallWordPiece() {
  OwnedSpec owned;
  owned.fields.model = "bert";
  owned.fields.ids = {.unk = 1, .cls = 2, .sep = 3};
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) owned.Add(name, 3);
  const std::string first = "\xE2\x96\x81";
  owned.Add(first + "un", 1);
  owned.Add("able", 1);
  owned.Add("abl", 1);
  owned.Add(first + "able", 1);
  owned.Add(first + "!", 1);
  owned.Add(first + "\xE4\xB8\xAD", 1);
  owned.Add(first + "\xC3\xBAn", 1);
  owned.Add("x", 1);
  owned.Add(first, 1);
  owned.fields.scores.clear();
  return owned;
}

/// SentencePiece BPE as defined: of all neighbours that together are a token, those of the highest
/// score, of these the leftmost, until none is left. O(n^2). `text` has spaces where the vocabulary
/// has U+2581; the caller cuts it into characters. What is no token becomes byte tokens.
class NaiveSentencePiece {
 public:
  explicit NaiveSentencePiece(const OwnedSpec& owned) {
    for (size_t i = 0; i < owned.tokens.size(); ++i) {
      if (owned.fields.types[i] != 1) continue;
      std::string token;
      std::string_view rest = owned.tokens[i];
      while (!rest.empty()) {
        const bool space = rest.starts_with("\xE2\x96\x81");
        token += space ? ' ' : rest[0];
        rest.remove_prefix(space ? 3 : 1);
      }
      tokens_[token] = {owned.fields.scores[i], static_cast<TokenId>(i)};
    }
  }

  std::vector<TokenId> Encode(std::vector<std::string> symbols) const {
    while (true) {
      size_t best = symbols.size();
      float best_score = -std::numeric_limits<float>::infinity();
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = tokens_.find(symbols[i] + symbols[i + 1]);
        if (found != tokens_.end() &&
            (best == symbols.size() || found->second.first > best_score)) {
          best = i;
          best_score = found->second.first;
        }
      }
      if (best == symbols.size()) break;
      symbols[best] += symbols[best + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<TokenId> ids;
    for (const std::string& symbol : symbols) {
      const auto found = tokens_.find(symbol);
      if (found != tokens_.end()) {
        ids.push_back(found->second.second);
      } else {
        for (const char c : symbol) ids.push_back(3 + static_cast<uint8_t>(c));  // <0x..>
      }
    }
    return ids;
  }

 private:
  std::map<std::string, std::pair<float, TokenId>> tokens_;
};

/// Byte-level BPE of one piece as defined: of all neighbours with a merge, those listed first, of
/// these the leftmost, until none is left. O(n^2).
class NaiveByteLevel {
 public:
  explicit NaiveByteLevel(const OwnedSpec& owned) {
    for (size_t i = 0; i < owned.merges.size(); ++i) {
      const size_t space = owned.merges[i].find(' ', 1);
      ranks_.try_emplace({owned.merges[i].substr(0, space), owned.merges[i].substr(space + 1)}, i);
    }
    for (size_t i = 0; i < owned.tokens.size(); ++i) {
      if (owned.fields.types[i] == 1) ids_[owned.tokens[i]] = static_cast<TokenId>(i);
    }
  }

  std::vector<TokenId> Encode(std::string_view piece) const {
    std::vector<std::string> symbols;
    for (const char c : piece) symbols.push_back(ByteLevelCharacter(static_cast<unsigned char>(c)));
    std::vector<TokenId> ids;
    for (const std::string& symbol : Merge(std::move(symbols))) ids.push_back(ids_.at(symbol));
    return ids;
  }

  /// The same from any symbols, spelled as in the file, to what they merge to.
  std::vector<std::string> Merge(std::vector<std::string> symbols) const {
    while (true) {
      size_t best = symbols.size();
      size_t best_rank = ranks_.size();
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = ranks_.find({symbols[i], symbols[i + 1]});
        if (found != ranks_.end() && found->second < best_rank) {
          best = i;
          best_rank = found->second;
        }
      }
      if (best == symbols.size()) break;
      symbols[best] += symbols[best + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    return symbols;
  }

 private:
  std::map<std::pair<std::string, std::string>, size_t> ranks_;
  std::map<std::string, TokenId> ids_;
};

}  // namespace skald::text
