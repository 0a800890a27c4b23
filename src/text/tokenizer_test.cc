#include "skald/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/pre_tokenizer.h"
#include "text/test_vocabs.h"

namespace skald {
namespace {

using text::NaiveByteLevel;
using text::NaiveSentencePiece;
using text::OwnedSpec;
using text::SmallByteLevel;
using text::SmallSentencePiece;

constexpr EncodeOptions kPlain = {.boundary = BoundaryTokens::kNone};
constexpr EncodeOptions kParse = {.special = SpecialTokens::kParse,
                                  .boundary = BoundaryTokens::kNone};

Tokenizer Create(const OwnedSpec& owned) {
  Result<Tokenizer> tokenizer = Tokenizer::Create(owned.spec());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *std::move(tokenizer);
}

// The tokens of `text`, each in brackets: "[ab][ c]". Control tokens by name.
std::string Tokens(const Tokenizer& tokenizer, std::string_view text,
                   const EncodeOptions& options = kPlain) {
  const auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  std::string shown;
  for (const TokenId id : *ids) shown += "[" + tokenizer.EscapedToken(id) + "]";
  return shown;
}

// Random text over an alphabet in which merges, special tokens and defects are frequent.
class RandomText {
 public:
  std::string Next(size_t max_parts) {
    static const std::vector<std::string> kParts = {"a",
                                                    "a",
                                                    "a",
                                                    "b",
                                                    "b",
                                                    "c",
                                                    " ",
                                                    " ",
                                                    "\n",
                                                    "\xC3\xA9",
                                                    "\xF0\x9F\x98\x80",
                                                    "1",
                                                    "2",
                                                    "3",
                                                    "'s",
                                                    "<",
                                                    "\xFF",
                                                    "\xC3",
                                                    "\xF0\x9F",
                                                    "\xE4\xB8\xAD",
                                                    "!",
                                                    "abc",
                                                    "\t",
                                                    "Z"};
    std::string text;
    for (size_t i = Draw(max_parts + 1); i > 0; --i) text += kParts[Draw(kParts.size())];
    return text;
  }
  size_t Draw(size_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state_ >> 33) % bound;
  }

 private:
  uint64_t state_ = 42;
};

std::vector<std::string> Characters(std::string_view bytes) {
  std::vector<std::string> characters;
  while (!bytes.empty()) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    const size_t length =
        sequence.kind == Utf8Sequence::Kind::kWellFormed ? static_cast<size_t>(sequence.length) : 1;
    characters.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return characters;
}

TEST(SentencePieceTest, MergesByHighestScoreThenLeftmost) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  EXPECT_EQ(Tokens(tokenizer, ""), "");
  EXPECT_EQ(Tokens(tokenizer, "aaa"), "[ ][aa][a]");  // "aa" outranks " a"
  EXPECT_EQ(Tokens(tokenizer, "abc"), "[ abc]");
  EXPECT_EQ(Tokens(tokenizer, "aaaa"), "[ ][aaaa]");
  EXPECT_EQ(Tokens(tokenizer, "caab"), "[ ][c][aa][b]");  // "aa" outranks "ca" and "ab"
  EXPECT_EQ(Tokens(tokenizer, "cab"), "[ ][cab]");        // by way of "ab"
}

TEST(SentencePieceTest, SpellsWhatHasNoTokenByBytes) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  EXPECT_EQ(Tokens(tokenizer, "\xE4\xB8\xAD"), "[ ][\\xE4][\\xB8][\\xAD]");
  EXPECT_EQ(Tokens(tokenizer, "\xC3\xA9\xC3\xA9\xFF"), "[ ][\xC3\xA9\xC3\xA9][\\xFF]");
}

TEST(SentencePieceTest, UsesTheUnknownTokenWhereThereAreNoBytes) {
  OwnedSpec owned;
  owned.fields.model = "llama";
  owned.Add("<unk>", 2);
  owned.Add("<s>", 3);
  owned.Add("</s>", 3);
  owned.Add("a", 1);
  owned.Add("\xE2\x96\x81", 1);
  EXPECT_EQ(Tokens(Create(owned), "ax\xE4\xB8\xAD"), "[ ][a][<unk>][<unk>]");
}

TEST(SentencePieceTest, LeavesOutWhatNoTokenStandsFor) {
  OwnedSpec owned;
  owned.fields.model = "llama";
  owned.fields.add_bos = false;
  owned.fields.add_space_prefix = false;
  owned.Add("a", 3);
  owned.Add("b", 1);
  owned.fields.ids.unk = 0;
  EXPECT_EQ(Tokens(Create(owned), "bxb"), "[b][a][b]");
}

TEST(ByteLevelTest, LeavesOutBytesThatNoTokenStandsFor) {
  OwnedSpec owned;
  owned.fields.model = "gpt2";
  owned.Add("a", 1);
  EXPECT_EQ(Tokens(Create(owned), "abba"), "[a][a]");
  owned.Add("?", 1);
  owned.fields.ids.unk = 1;
  EXPECT_EQ(Tokens(Create(owned), "aba"), "[a][?][a]");
}

TEST(ByteLevelTest, SpellsU_FFFDForIllFormedBytesThatNoTokenStandsFor) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  const Tokenizer whole = Create(owned);
  EXPECT_EQ(Tokens(whole, "a\xFF\xE4\xB8x"), "[a][\\xFF][\\xE4][\\xB8][x]");
  owned.tokens[0xFF] = "";  // as in Falcon's vocabulary
  owned.tokens[0xE4] = "";
  const Tokenizer tokenizer = Create(owned);
  EXPECT_EQ(Tokens(tokenizer, "a\xFF\xE4\xB8x"),
            "[a][\\xEF][\\xBF][\\xBD][\\xEF][\\xBF][\\xBD][x]");
  EXPECT_EQ(Tokens(tokenizer, "\xE4\xB8\xAD"), "[\\xB8][\\xAD]");  // a character is no error
}

TEST(SentencePieceTest, PutsASpaceFirstAndAfterEachSpecialToken) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  EXPECT_EQ(Tokens(tokenizer, "a<tool>a"), "[ a][<tool>][ a]");
  EXPECT_EQ(Tokens(tokenizer, "<tool>"), "[<tool>]");
  OwnedSpec owned = SmallSentencePiece();
  owned.fields.add_space_prefix = false;
  EXPECT_EQ(Tokens(Create(owned), "a<tool>a"), "[a][<tool>][a]");
}

TEST(SentencePieceTest, TheSpaceMarkIsASpace) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  EXPECT_EQ(Tokens(tokenizer,
                   "a\xE2\x96\x81"
                   "a"),
            Tokens(tokenizer, "a a"));
}

TEST(SentencePieceTest, EqualsTheDefinitionOnRandomText) {
  const OwnedSpec owned = SmallSentencePiece();
  const Tokenizer tokenizer = Create(owned);
  const NaiveSentencePiece naive(owned);
  RandomText random;
  for (int round = 0; round < 5000; ++round) {
    const std::string text = random.Next(40);
    if (text.empty()) continue;
    const auto ids = tokenizer.Encode(text, kPlain);
    ASSERT_TRUE(ids.ok());
    ASSERT_EQ(*ids, naive.Encode(Characters(" " + text))) << testing::PrintToString(text);
    ASSERT_EQ(tokenizer.DecodeBytes(*ids), text);
  }
}

TEST(SentencePieceTest, TokensThatReachAcrossWordsAreFound) {
  OwnedSpec owned = SmallSentencePiece();
  owned.Add("c\xE2\x96\x81", 1, 5);  // a space after a letter: words are no longer separate
  owned.Add(
      "c\xE2\x96\x81"
      "a",
      1, 6);
  const Tokenizer tokenizer = Create(owned);
  EXPECT_EQ(Tokens(tokenizer, "bc ab"), "[ ][b][c a][b]");
  const NaiveSentencePiece naive(owned);
  RandomText random;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random.Next(30).append("x");
    ASSERT_EQ(*tokenizer.Encode(text, kPlain), naive.Encode(Characters(" " + text)));
  }
}

TEST(ByteLevelBpeTest, MergesByRankWithinPieces) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  EXPECT_EQ(Tokens(tokenizer, ""), "");
  EXPECT_EQ(Tokens(tokenizer, "abc a abc"), "[abc][ a][ ][abc]");
  EXPECT_EQ(Tokens(tokenizer, "aaa"), "[aa][a]");
  EXPECT_EQ(Tokens(tokenizer, "\xC3\xA9\xC3\xA9"), "[\xC3\xA9][\xC3\xA9]");
  EXPECT_EQ(Tokens(tokenizer, "\n\n\n\n\n"), "[\\n\\n\\n\\n][\\n]");
}

// Every token takes part in merges, the first one too: as left half, right half and result.
TEST(ByteLevelBpeTest, TheTokenWithNumberZeroMergesAsAnyOther) {
  for (const size_t zero : {0U, 1U, 2U, 3U}) {
    std::vector<std::string> words = {"a", "b", "ab", "aba"};
    std::swap(words[0], words[zero]);
    text::OwnedSpec owned;
    owned.fields.model = "gpt2";
    owned.fields.pre = "gpt-2";
    for (const std::string& word : words) owned.Add(word, 1);
    owned.fields.scores.clear();
    owned.merges = {"a b", "ab a"};
    const auto tokenizer = Tokenizer::Create(owned.spec());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    const auto spelled = [&](const std::string& text) {
      std::string pieces;
      const auto ids = tokenizer->Encode(text);
      if (!ids.ok()) return ids.status().message();
      for (const TokenId id : *ids) pieces += std::string(tokenizer->TokenBytes(id)) + "|";
      return pieces;
    };
    EXPECT_EQ(spelled("abaab"), "aba|ab|") << words[0];
    std::string many;
    std::string expected;
    for (int i = 0; i < 20; ++i) many += "aba";  // longer than what is merged without a heap
    for (int i = 0; i < 20; ++i) expected += "aba|";
    EXPECT_EQ(spelled(many), expected) << words[0];
    EXPECT_EQ(spelled("bbaa"), "b|b|a|a|") << words[0];
  }
}

TEST(ByteLevelBpeTest, WholePiecesAreTakenOnlyWhereTheModelSaysSo) {
  OwnedSpec owned = SmallByteLevel("qwen2");
  owned.fields.types.push_back(1);
  owned.tokens.push_back("zab");  // no merge forms it
  EXPECT_EQ(Tokens(Create(owned), "zab"), "[z][ab]");
  owned.fields.pre = "llama-bpe";
  EXPECT_EQ(Tokens(Create(owned), "zab"), "[zab]");
}

TEST(ByteLevelBpeTest, EqualsTheDefinitionOnRandomText) {
  for (const char* pre : {"gpt-2", "qwen2", "smollm", "default"}) {
    const OwnedSpec owned = SmallByteLevel(pre);
    const Tokenizer tokenizer = Create(owned);
    const NaiveByteLevel naive(owned);
    const auto pre_tokenizer = text::PreTokenizer::Create(**text::FindPreTokenizerRule(pre));
    ASSERT_TRUE(pre_tokenizer.ok());
    RandomText random;
    for (int round = 0; round < 2000; ++round) {
      // Long runs of one class too, so that both the short and the long path are taken.
      const std::string text = random.Next(40).append(random.Draw(70), "ab 1"[round % 4]);
      std::vector<TokenId> expected;
      text::Pace pace;
      const auto pieces = pre_tokenizer->Split(text, pace);
      ASSERT_TRUE(pieces.ok());
      for (const std::string_view piece : *pieces) {
        for (const TokenId id : naive.Encode(piece)) expected.push_back(id);
      }
      const auto ids = tokenizer.Encode(text, kPlain);
      ASSERT_TRUE(ids.ok());
      ASSERT_EQ(*ids, expected) << testing::PrintToString(text);
      ASSERT_EQ(tokenizer.DecodeBytes(*ids), text);
    }
  }
}

TEST(ByteLevelBpeTest, WhateverTextComesBackUnderEveryRule) {
  for (const text::PreTokenizerRule& rule : text::PreTokenizerRules()) {
    if (rule.alphabet != text::Alphabet::kBytes) continue;
    OwnedSpec owned = SmallByteLevel(rule.name);
    owned.fields.normalization = text::Normalization::kNone;
    const Tokenizer tokenizer = Create(owned);
    RandomText random;
    for (int round = 0; round < 50; ++round) {
      const std::string text = random.Next(60);
      const auto ids = tokenizer.Encode(text, kPlain);
      ASSERT_TRUE(ids.ok());
      ASSERT_EQ(tokenizer.DecodeBytes(*ids), text) << rule.name;
    }
  }
}

TEST(ByteLevelBpeTest, TextIsComposedWhereTheNameAsksForIt) {
  OwnedSpec owned = SmallByteLevel("qwen2");
  EXPECT_EQ(Tokens(Create(owned), "e\xCC\x81<tool>e\xCC\x81"), "[\xC3\xA9][<tool>][\xC3\xA9]");
  owned.fields.normalization = text::Normalization::kNone;
  EXPECT_EQ(Create(owned).DecodeBytes(*Create(owned).Encode("e\xCC\x81")), "e\xCC\x81");
  owned = SmallByteLevel("kormo");  // the same rule, but nobody asks for it
  EXPECT_EQ(Create(owned).DecodeBytes(*Create(owned).Encode("e\xCC\x81")), "e\xCC\x81");
}

TEST(WholeLinesBpeTest, EqualsTheDefinitionOnRandomText) {
  const OwnedSpec owned = text::SmallWholeLines();
  const Tokenizer tokenizer = Create(owned);
  const NaiveByteLevel naive(owned);
  RandomText random;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random.Next(40).append(random.Draw(70), "ab \n"[round % 4]);
    std::vector<std::string> expected;
    for (std::string_view rest = text; !rest.empty();) {
      const bool newlines = rest[0] == '\n';
      const size_t end = std::min(rest.size(), newlines ? rest.find_first_not_of('\n')  //
                                                        : rest.find('\n'));
      std::vector<std::string> symbols;
      for (std::string_view line = rest.substr(0, end); !line.empty();) {
        const Utf8Sequence character = ReadUtf8(line);
        const bool whole = character.kind == Utf8Sequence::Kind::kWellFormed;
        const auto length = static_cast<size_t>(whole ? character.length : 1);
        symbols.emplace_back(line[0] == ' ' ? "\xE2\x96\x81" : line.substr(0, length));
        line.remove_prefix(length);
      }
      if (newlines && end >= 2 && end <= 4) symbols = {std::string(end, '\n')};
      for (const std::string& symbol : naive.Merge(symbols)) expected.push_back(symbol);
      rest.remove_prefix(end);
    }
    const auto ids = tokenizer.Encode(text, kPlain);
    ASSERT_TRUE(ids.ok());
    std::vector<TokenId> naive_ids;
    for (const std::string& symbol : expected) {
      const auto known = std::find(owned.tokens.begin(), owned.tokens.end(), symbol);
      if (known != owned.tokens.end()) {
        naive_ids.push_back(static_cast<TokenId>(known - owned.tokens.begin()));
      } else {
        for (const char c : symbol) naive_ids.push_back(3 + static_cast<uint8_t>(c));
      }
    }
    ASSERT_EQ(*ids, naive_ids) << testing::PrintToString(text);
    ASSERT_EQ(tokenizer.DecodeBytes(*ids), text);
  }
}

TEST(WholeLinesBpeTest, TextThatSpellsAByteOrTheUnknownTokenStaysText) {
  OwnedSpec owned = text::SmallWholeLines();
  for (const char* token : {"<", "un", "k", ">", "unk", "unk>"}) {
    if (std::find(owned.tokens.begin(), owned.tokens.end(), token) != owned.tokens.end()) continue;
    owned.tokens.push_back(token);
    owned.fields.types.push_back(1);
  }
  owned.merges.push_back("un k");
  owned.merges.push_back("unk >");
  owned.merges.push_back("< unk>");
  const auto ids = Create(owned).Encode("<unk>", kPlain);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(Create(owned).DecodeBytes(*ids), "<unk>");
}

TEST(SpecialTokensTest, WhatAUserTypedNeverBecomesAControlToken) {
  const Tokenizer spm = Create(SmallSentencePiece());
  const Tokenizer bpe = Create(SmallByteLevel("gpt-2"));
  for (const Tokenizer* tokenizer : {&spm, &bpe}) {
    for (TokenId control = 0; control < tokenizer->vocab_size(); ++control) {
      if (!tokenizer->IsControl(control)) continue;
      const std::string name(tokenizer->TokenBytes(control));
      const auto plain = tokenizer->Encode("a" + name + "b", kPlain);
      ASSERT_TRUE(plain.ok());
      for (const TokenId id : *plain) EXPECT_FALSE(tokenizer->IsControl(id)) << name;
      EXPECT_EQ(tokenizer->DecodeBytes(*plain), "a" + name + "b");
      const auto parsed = tokenizer->Encode("a" + name + "b", kParse);
      ASSERT_TRUE(parsed.ok());
      EXPECT_EQ(std::count(parsed->begin(), parsed->end(), control), 1) << name;
    }
  }
}

TEST(SpecialTokensTest, ControlTokensStayOutOfReachOfMergesAndWholePieces) {
  OwnedSpec owned = SmallByteLevel("llama-bpe");
  owned.tokens.push_back("bb");
  owned.fields.types.push_back(3);
  owned.merges.push_back("b b");
  const Tokenizer tokenizer = Create(owned);
  EXPECT_EQ(Tokens(tokenizer, "bb"), "[b][b]");
  EXPECT_EQ(Tokens(tokenizer, "bb", kParse), "[bb]");
  OwnedSpec spm = SmallSentencePiece();
  spm.Add("acc", 3, 100);
  spm.Add("cc", 1, 50);
  EXPECT_EQ(Tokens(Create(spm), "acc"), "[ a][cc]");
}

TEST(SpecialTokensTest, UserDefinedTokensAreAlwaysMatchedLongestFirst) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  for (const char* token : {"<tool>x", "    ", "ol>y"}) {
    owned.tokens.push_back(token);
    owned.fields.types.push_back(4);
  }
  const Tokenizer tokenizer = Create(owned);
  EXPECT_EQ(Tokens(tokenizer, "a<tool>xb<tool>b"), "[a][<tool>x][b][<tool>][b]");
  EXPECT_EQ(Tokens(tokenizer, "<tool>y"), "[<tool>][y]");  // the leftmost wins
  EXPECT_EQ(Tokens(tokenizer, "     a"), "[    ][ a]");
}

std::string MixedTokens(const Tokenizer& tokenizer, std::string_view text,
                        const std::vector<TextRange>& ranges) {
  const auto ids = tokenizer.EncodeMixed(text, ranges, BoundaryTokens::kNone);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  std::string shown;
  for (const TokenId id : *ids) shown += "[" + tokenizer.EscapedToken(id) + "]";
  return shown;
}

// What a naive search finds: from the left, at each place the longest token that is looked for.
std::string NaiveSpecial(const std::vector<std::pair<std::string, int64_t>>& tokens,
                         std::string_view text, SpecialTokens special) {
  std::string marked;
  while (!text.empty()) {
    std::string_view best;
    for (const auto& [token, type] : tokens) {
      const bool wanted = type == 4 || special == SpecialTokens::kParse;
      if (wanted && text.starts_with(token) && token.size() > best.size()) best = token;
    }
    marked += best.empty() ? std::string(text.substr(0, 1)) : "[" + std::string(best) + "]";
    text.remove_prefix(std::max(best.size(), size_t{1}));
  }
  return marked;
}

TEST(SpecialTokensTest, BothSetsAreFoundAsANaiveSearchFindsThem) {
  RandomText random;
  for (int round = 0; round < 300; ++round) {
    text::OwnedSpec owned = text::SmallByteLevel("gpt-2");
    std::vector<std::pair<std::string, int64_t>> tokens;
    for (size_t i = 0; i < 6; ++i) {
      std::string token(1, 'x');
      for (size_t length = random.Draw(5); length > 0; --length)
        token += static_cast<char>('x' + random.Draw(2));
      const auto known = [&](const auto& other) { return other.first == token; };
      if (token.size() < 2 || std::any_of(tokens.begin(), tokens.end(), known)) continue;
      tokens.emplace_back(token, 3 + static_cast<int64_t>(random.Draw(2)));
      owned.Add(token, tokens.back().second);
    }
    owned.fields.scores.clear();
    const auto tokenizer = Tokenizer::Create(owned.spec());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    std::string text;
    for (int i = 0; i < 40; ++i) text += static_cast<char>('x' + random.Draw(2));
    for (const SpecialTokens special : {SpecialTokens::kParse, SpecialTokens::kAsText}) {
      const auto ids = tokenizer->Encode(text, {.special = special});
      ASSERT_TRUE(ids.ok());
      std::string marked;
      for (const TokenId id : *ids) {
        const std::string bytes(tokenizer->TokenBytes(id));
        marked += tokenizer->Type(id) == TokenType::kNormal ? bytes : "[" + bytes + "]";
      }
      ASSERT_EQ(marked, NaiveSpecial(tokens, text, special)) << text;
    }
  }
}

TEST(MixedTextTest, ControlTokensAreParsedInsideTheRangesOnly) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  const std::string marker = "<|endoftext|>";  // 13 bytes
  const std::string text = marker + "ab" + marker;
  const std::string spelled = Tokens(tokenizer, marker);
  ASSERT_NE(spelled, "[<|endoftext|>]");
  EXPECT_EQ(MixedTokens(tokenizer, text, {}), Tokens(tokenizer, text));
  EXPECT_EQ(MixedTokens(tokenizer, text, {{0, 28}}), "[<|endoftext|>][ab][<|endoftext|>]");
  EXPECT_EQ(MixedTokens(tokenizer, text, {{0, 13}}),
            "[<|endoftext|>]" + Tokens(tokenizer, "ab" + marker));
  EXPECT_EQ(MixedTokens(tokenizer, text, {{0, 1}, {15, 28}}),
            Tokens(tokenizer, marker + "ab") + "[<|endoftext|>]");
}

TEST(MixedTextTest, AMarkerOfWhichOneByteIsOutsideIsText) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  const std::string marker = "<|endoftext|>";
  const std::string spelled = Tokens(tokenizer, marker);
  for (size_t cut = 1; cut < marker.size(); ++cut) {
    EXPECT_EQ(MixedTokens(tokenizer, marker, {{0, cut}}), spelled) << cut;
    EXPECT_EQ(MixedTokens(tokenizer, marker, {{cut, marker.size()}}), spelled) << cut;
  }
}

TEST(MixedTextTest, ALongerMarkerThatReachesOutsideDoesNotHideAShorterOne) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  owned.tokens.push_back("<|endoftext|>b");
  owned.fields.types.push_back(3);
  const Tokenizer tokenizer = Create(owned);
  const std::string text = "<|endoftext|>b";
  EXPECT_EQ(MixedTokens(tokenizer, text, {{0, 14}}), "[<|endoftext|>b]");
  EXPECT_EQ(MixedTokens(tokenizer, text, {{0, 13}}), "[<|endoftext|>][b]");
}

TEST(MixedTextTest, TextMergesOverTheBordersOfRanges) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  EXPECT_EQ(Tokens(tokenizer, "abc"), "[abc]");
  EXPECT_EQ(MixedTokens(tokenizer, "abc", {{0, 1}, {2, 3}}), "[abc]");
}

TEST(MixedTextTest, UserDefinedTokensAreMatchedEverywhere) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  EXPECT_EQ(MixedTokens(tokenizer, "a<tool>b", {}), "[a][<tool>][b]");
  EXPECT_EQ(MixedTokens(tokenizer, "a<tool>b", {{0, 4}}), "[a][<tool>][b]");
}

TEST(MixedTextTest, OneRangeOfAllEqualsParsingAll) {
  for (const OwnedSpec& owned : {SmallByteLevel("gpt-2"), SmallSentencePiece()}) {
    const Tokenizer tokenizer = Create(owned);
    RandomText random;
    for (int i = 0; i < 500; ++i) {
      const std::string text = random.Next(30) + "<|im_end|>" + random.Next(3) + "<|endoftext|>";
      EXPECT_EQ(MixedTokens(tokenizer, text, {{0, text.size()}}), Tokens(tokenizer, text, kParse));
      EXPECT_EQ(MixedTokens(tokenizer, text, {}), Tokens(tokenizer, text));
    }
  }
}

TEST(SpecialTokensTest, BoundaryTokensAreAddedAsTheModelSays) {
  OwnedSpec owned = SmallSentencePiece();
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[<s>][ a]");
  EXPECT_EQ(Tokens(Create(owned), "", {}), "[<s>]");
  owned.fields.add_eos = true;
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[<s>][ a][</s>]");
  owned.fields.add_bos = false;
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[ a][</s>]");
  EXPECT_EQ(Tokens(Create(SmallByteLevel("gpt-2")), "a", {}), "[a]");
  OwnedSpec llama3 = SmallByteLevel("llama-bpe");  // adds BOS where the file does not say
  llama3.fields.ids.bos = llama3.fields.ids.eos;
  EXPECT_EQ(Tokens(Create(llama3), "a", {}), "[<|endoftext|>][a]");
}

TEST(SpecialTokensTest, EndOfGenerationIsKnownByIdAndByName) {
  const Tokenizer spm = Create(SmallSentencePiece());
  const TokenId im_end = spm.FindToken("<|im_end|>");
  EXPECT_TRUE(spm.IsEndOfGeneration(spm.eos_id()));
  EXPECT_TRUE(spm.IsEndOfGeneration(im_end));
  EXPECT_EQ(spm.eot_id(), im_end);
  EXPECT_EQ(spm.end_of_generation_ids().size(), 2u);
  EXPECT_FALSE(spm.IsEndOfGeneration(spm.bos_id()));
  EXPECT_FALSE(spm.IsEndOfGeneration(kNoToken));
}

TEST(SpecialTokensTest, AnEndMarkerCalledNormalIsControlUnlessTextMergesIntoIt) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  owned.tokens.push_back("<|im_end|>");
  owned.fields.types.push_back(1);
  Tokenizer tokenizer = Create(owned);
  EXPECT_TRUE(tokenizer.IsControl(tokenizer.FindToken("<|im_end|>")));
  EXPECT_EQ(tokenizer.eot_id(), tokenizer.FindToken("<|im_end|>"));
  owned = SmallByteLevel("gpt-2");
  for (const char* token : {"</", "s>", "</s>"}) {
    owned.tokens.push_back(token);
    owned.fields.types.push_back(1);
  }
  for (const char* merge : {"< /", "s >", "</ s>"}) owned.merges.push_back(merge);
  tokenizer = Create(owned);
  EXPECT_EQ(tokenizer.Type(tokenizer.FindToken("</s>")), TokenType::kNormal);
  EXPECT_FALSE(tokenizer.IsEndOfGeneration(tokenizer.FindToken("</s>")));
}

TEST(DecodeTest, TakesTheSpacePrefixAwayOnlyAtTheStart) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  const TokenId a = tokenizer.FindToken(" a");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{a, a}), "a a");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{tokenizer.bos_id(), a, a}), "a a");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{a, a}, {.from = DecodeFrom::kContinuation}),
            " a a");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{tokenizer.bos_id(), a},
                             {.control = ControlTokens::kShow}),
            "<s>a");
}

TEST(DecodeTest, IdsOutsideTheVocabularyAddNothing) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  const auto size = static_cast<TokenId>(tokenizer.vocab_size());
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{-1, 'a' - '!', size, INT32_MAX, INT32_MIN}),
            std::string(tokenizer.TokenBytes('a' - '!')));
  EXPECT_EQ(tokenizer.TokenBytes(size), "");
  EXPECT_EQ(tokenizer.EscapedToken(-1), "");
  EXPECT_EQ(tokenizer.Type(size), TokenType::kUnused);
  EXPECT_FALSE(tokenizer.Contains(-1));
}

TEST(TokenizerTest, FindsTheTokensThatContainATextAndNamesOneThatIsInNone) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  const std::vector<std::string> texts = {"a", "\n"};
  std::vector<TokenId> expected;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.TokenBytes(id).find_first_of("a\n") != std::string_view::npos) {
      expected.push_back(id);
    }
  }
  EXPECT_GT(expected.size(), 3u);
  EXPECT_EQ(*tokenizer.TokensContaining(texts), expected);
  EXPECT_EQ(*tokenizer.TokensContaining(std::vector<std::string>{"\n\n"}),
            (std::vector<TokenId>{tokenizer.FindToken("\n\n"), tokenizer.FindToken("\n\n\n\n")}));
  EXPECT_TRUE(tokenizer.TokensContaining({})->empty());
  for (const std::string wrong : {"unheard of", ""}) {
    const auto found = tokenizer.TokensContaining(std::vector<std::string>{"a", wrong});
    EXPECT_EQ(found.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(found.status().message(), "'" + wrong +
                                            "' stands in no token of this model; expected a text "
                                            "within a token");
  }
}

TEST(TokenizerTest, EncodesATextWithAGapByTheTokensOfTheModel) {
  const auto with = [](std::string_view prefix, std::string_view suffix, std::string_view middle) {
    OwnedSpec owned = SmallByteLevel("gpt-2");
    owned.Add(std::string(prefix), 3);
    owned.Add(std::string(suffix), 3);
    owned.Add(std::string(middle), 3);
    owned.fields.scores.clear();
    return owned;
  };
  const auto none = Create(SmallByteLevel("gpt-2"));
  EXPECT_FALSE(none.fill_tokens().has_value());
  EXPECT_EQ(none.EncodeGap({.before = "a", .behind = "b"}).status().code(),
            ErrorCode::kUnsupported);
  const auto named = Create(with("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"));
  const auto fill = named.fill_tokens();
  ASSERT_TRUE(fill.has_value());
  EXPECT_EQ(named.TokenBytes(fill->suffix), "<|fim_suffix|>");
  // What the texts spell stays text.
  std::vector<TokenId> expected = {fill->prefix};
  const std::vector<TokenId> before = *named.Encode("a<|fim_middle|>");
  expected.insert(expected.end(), before.begin(), before.end());
  expected.push_back(fill->suffix);
  expected.push_back(named.FindToken("b"));
  expected.push_back(fill->middle);
  EXPECT_EQ(*named.EncodeGap({.before = "a<|fim_middle|>", .behind = "b"}), expected);
  EXPECT_FALSE(Create(with("<|fim_prefix|>", "<|fim_suffix|>", "<other>")).fill_tokens());
  // What the file says goes before names.
  OwnedSpec said = with("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>");
  said.fields.ids.fim_prefix = 1;
  said.fields.ids.fim_suffix = 2;
  EXPECT_FALSE(Create(said).fill_tokens()) << "of three it names two";
  said.fields.ids.fim_middle = 3;
  EXPECT_EQ(Create(said).fill_tokens(), (FillTokens{.prefix = 1, .suffix = 2, .middle = 3}));
}

TEST(TokenizerTest, PutsTheNearestFilesBeforeAGapThatHaveRoom) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  for (const char* name : {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}) owned.Add(name, 3);
  owned.fields.scores.clear();
  const Tokenizer plain = Create(owned);
  owned.Add("<|repo_name|>", 3);
  owned.Add("<|file_sep|>", 3);
  owned.fields.scores.clear();
  const Tokenizer marked = Create(owned);
  const std::vector<NamedText> files = {{"a.c", "aa"}, {"b.c", "b"}};
  const auto text = [&](const Tokenizer& tokenizer, int64_t most) {
    const auto tokens =
        tokenizer.EncodeGap({.before = "x", .behind = "y", .files = files, .max_tokens = most});
    return tokenizer.Decode(*tokens, {.control = ControlTokens::kShow});
  };
  const std::string gap = "<fim_prefix>x<fim_suffix>y<fim_middle>";
  const std::string snippet = "\n\n--- snippet ---\n\n";
  EXPECT_EQ(text(plain, 1000), snippet + "aa" + snippet + "b" + gap);
  EXPECT_EQ(text(marked, 1000), "<|repo_name|>myproject\n<|file_sep|>a.c\naa<|file_sep|>b.c\nb" +
                                    ("<|file_sep|>filename\n" + gap));
  // To the token: the first file goes, then the second; the gap stays.
  const auto all = static_cast<int64_t>(
      marked.EncodeGap({.before = "x", .behind = "y", .files = files})->size());
  EXPECT_EQ(text(marked, all), text(marked, 1000));
  EXPECT_EQ(text(marked, all - 1),
            "<|repo_name|>myproject\n<|file_sep|>b.c\nb<|file_sep|>filename\n" + gap);
  EXPECT_EQ(text(marked, 0), "<|repo_name|>myproject\n<|file_sep|>filename\n" + gap);
}

TEST(DecodeTest, EscapedTokensAreOneLine) {
  const Tokenizer tokenizer = Create(SmallByteLevel("gpt-2"));
  const auto escaped = [&](std::string_view bytes) {
    return tokenizer.EscapedToken(tokenizer.FindToken(bytes));
  };
  EXPECT_EQ(escaped(" a"), " a");
  EXPECT_EQ(escaped("\n\n"), "\\n\\n");
  EXPECT_EQ(escaped("\t"), "\\t");
  EXPECT_EQ(escaped("\r"), "\\r");
  EXPECT_EQ(escaped("\\"), "\\\\");
  EXPECT_EQ(escaped("\x1B"), "\\x1B");
  EXPECT_EQ(escaped("\x7F"), "\\x7F");
  EXPECT_EQ(escaped("\xF0\x9F"), "\\xF0\\x9F");
  EXPECT_EQ(escaped("\xC3\xA9"), "\xC3\xA9");
}

TEST(StreamDecoderTest, HoldsBackIncompleteCharacters) {
  const Tokenizer tokenizer = Create(SmallSentencePiece());
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Push(tokenizer.bos_id()), "");
  EXPECT_EQ(decoder.Push(tokenizer.FindToken(" a")), "a");
  EXPECT_EQ(decoder.Push(3 + 0xE4), "");
  EXPECT_EQ(decoder.Push(3 + 0xB8), "");
  EXPECT_EQ(decoder.Push(3 + 0xAD), "\xE4\xB8\xAD");
  EXPECT_EQ(decoder.Push(3 + 0xE4), "");
  EXPECT_EQ(decoder.Push(tokenizer.FindToken(" a")), "\xEF\xBF\xBD a");
  EXPECT_EQ(decoder.Push(3 + 0xF0), "");
  EXPECT_EQ(decoder.Flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoderTest, PiecesTogetherAreTheDecodedWhole) {
  const Tokenizer spm = Create(SmallSentencePiece());
  const Tokenizer bpe = Create(SmallByteLevel("gpt-2"));
  RandomText random;
  for (int round = 0; round < 3000; ++round) {
    const Tokenizer& tokenizer = round % 2 == 0 ? spm : bpe;
    std::vector<TokenId> ids(random.Draw(12));
    for (TokenId& id : ids) {
      id = static_cast<TokenId>(random.Draw(static_cast<size_t>(tokenizer.vocab_size()) + 1));
    }
    for (const auto from : {DecodeFrom::kStart, DecodeFrom::kContinuation}) {
      for (const auto control : {ControlTokens::kHide, ControlTokens::kShow}) {
        const DecodeOptions options = {.control = control, .from = from};
        StreamDecoder decoder(tokenizer, options);
        std::string joined;
        for (const TokenId id : ids) {
          const std::string delta = decoder.Push(id);
          ASSERT_EQ(WellFormedPrefix(delta), delta.size());
          joined += delta;
        }
        joined += decoder.Flush();
        ASSERT_EQ(joined, tokenizer.Decode(ids, options));
      }
    }
  }
}

}  // namespace
}  // namespace skald
