// Unigram and WordPiece, the tokenizers of embedding models, with vocabularies written here.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "skald/tokenizer.h"
#include "text/charsmap_builder.h"
#include "text/test_vocabs.h"

namespace skald {
namespace {

using text::OwnedSpec;

constexpr EncodeOptions kPlain = {.boundary = BoundaryTokens::kNone};

Tokenizer Create(const OwnedSpec& owned) {
  Result<Tokenizer> tokenizer = Tokenizer::Create(owned.spec());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(*tokenizer);
}

Status Refusal(const OwnedSpec& owned) {
  const Result<Tokenizer> tokenizer = Tokenizer::Create(owned.spec());
  EXPECT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.status().code(), ErrorCode::kBadModel);
  return tokenizer.status();
}

std::string Tokens(const Tokenizer& tokenizer, std::string_view text,
                   const EncodeOptions& options = kPlain) {
  const auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  std::string tokens;
  for (const TokenId id : *ids) tokens += "[" + tokenizer.EscapedToken(id) + "]";
  return tokens;
}

// --- Unigram -----------------------------------------------------------------------------------

TEST(UnigramTest, TakesTheLargestSumOfScores) {
  const Tokenizer tokenizer = Create(text::SmallUnigram());
  EXPECT_EQ(Tokens(tokenizer, "abc"), "[ ab][c]");  // -2 - 3, not -3 - 2.5 of "a" and "bc"
  EXPECT_EQ(Tokens(tokenizer, "a bc"), "[ a][ ][bc]");
  EXPECT_EQ(Tokens(tokenizer, "aaaa"), "[ ][aa][aa]");  // of equal sums the one found first
}

TEST(UnigramTest, NeighboursWithoutATokenAreOneUnknownToken) {
  const Tokenizer tokenizer = Create(text::SmallUnigram());
  EXPECT_EQ(Tokens(tokenizer,
                   "a\xE4\xB8\xAD\xE6\x96\x87z\xFF"
                   "b"),
            "[ a][<unk>][b]");
  OwnedSpec bytes = text::SmallUnigram();
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    bytes.Add(std::string("<0x") + kHex[static_cast<size_t>(byte >> 4)] +
                  kHex[static_cast<size_t>(byte & 15)] + ">",
              6);
  }
  EXPECT_EQ(Tokens(Create(bytes), "a\xC3\xA9z"), "[ a][\\xC3][\\xA9][z]");
}

TEST(UnigramTest, SpacesAreAsTheFileSays) {
  OwnedSpec owned = text::SmallUnigram();
  EXPECT_EQ(Tokens(Create(owned), "  a  b "), "[ a][ ][b]");
  EXPECT_EQ(Tokens(Create(owned), "  "), "");
  owned.fields.remove_extra_whitespaces = false;
  EXPECT_EQ(Tokens(Create(owned), "a  b "), "[ a][ ][ ][b][ ]");
  owned.fields.add_space_prefix = false;
  EXPECT_EQ(Tokens(Create(owned), "a b"), "[a][ ][b]");
}

TEST(UnigramTest, TheCharsmapIsAppliedFirst) {
  OwnedSpec owned = text::SmallUnigram();
  owned.fields.precompiled_charsmap =
      text::CharsmapBuilder().Add("X", "abc").Add("\xC2\xA0", " ").Add("-", "").Build();
  EXPECT_EQ(Tokens(Create(owned), "X"), "[ ab][c]");
  EXPECT_EQ(Tokens(Create(owned),
                   "a-b\xC2\xA0\xC2\xA0"
                   "c"),
            "[ ab][ ][c]");
  owned.Add("Xa", 4);  // user-defined: what begins as it does is not normalized
  EXPECT_EQ(Tokens(Create(owned), "Xb Xa"), "[ ][<unk>][b][Xa]");
}

TEST(UnigramTest, BoundariesAreT5sUnlessTheFileSaysOtherwise) {
  OwnedSpec owned = text::SmallUnigram();
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[ a][</s>]");
  owned.fields.add_eos = false;
  owned.fields.add_bos = true;
  owned.fields.ids.bos = 0;
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[<pad>][ a]");
}

TEST(UnigramTest, EqualsTheSearchOverAllCutsOnRandomText) {
  OwnedSpec owned = text::SmallUnigram();
  uint64_t random = 3;
  const auto draw = [&random](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  // Scores without equal sums.
  for (float& score : owned.fields.scores) {
    score = -1 - static_cast<float>(draw(1 << 20)) / (1 << 18);
  }
  owned.fields.add_space_prefix = false;
  owned.fields.remove_extra_whitespaces = false;
  const Tokenizer tokenizer = Create(owned);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t i = 1 + draw(10); i > 0; --i) text += "abc "[draw(4)];
    double best = -std::numeric_limits<double>::infinity();
    std::vector<TokenId> expected;
    for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
      double sum = 0;
      std::vector<TokenId> ids;
      size_t begin = 0;
      bool known = true;
      for (size_t end = 1; end <= text.size() && known; ++end) {
        if (end < text.size() && (cuts >> (end - 1) & 1) == 0) continue;
        const TokenId id = tokenizer.FindToken(text.substr(begin, end - begin));
        known = id != kNoToken;
        if (known) sum += owned.fields.scores[static_cast<size_t>(id)];
        ids.push_back(id);
        begin = end;
      }
      if (known && sum > best) {
        best = sum;
        expected = ids;
      }
    }
    ASSERT_EQ(*tokenizer.Encode(text, kPlain), expected) << text;
  }
}

TEST(UnigramTest, ScoresThatAreNotFiniteStillGiveAWay) {
  OwnedSpec owned = text::SmallUnigram();
  for (float& score : owned.fields.scores) score = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(Create(owned).DecodeBytes(*Create(owned).Encode("abc a", kPlain)), "abc a");
}

TEST(UnigramTest, DamagedVocabulariesAreRefused) {
  OwnedSpec owned = text::SmallUnigram();
  owned.fields.scores.clear();
  EXPECT_EQ(Refusal(owned).message(),
            "token scores are missing: a Unigram vocabulary needs one for each token");
  owned = text::SmallUnigram();
  owned.fields.precompiled_charsmap = "abc";
  EXPECT_EQ(Refusal(owned).message(),
            "precompiled_charsmap: expected 4 bytes with the size of its table, found 3");
  OwnedSpec tiny;
  tiny.fields.model = "t5";
  tiny.Add("a", 1);
  EXPECT_NE(Refusal(tiny).message().find("needs an unknown token"), std::string::npos);
}

// --- WordPiece ---------------------------------------------------------------------------------

TEST(WordPieceTest, TakesTheLongestTokensFromTheLeft) {
  const Tokenizer tokenizer = Create(text::SmallWordPiece());
  EXPECT_EQ(Tokens(tokenizer, "unable un able"), "[ un][able][ un][ able]");
  EXPECT_EQ(Tokens(tokenizer, "unablq"), "[[UNK]]");  // not to its end: the whole word
  EXPECT_EQ(Tokens(tokenizer, "x"), "[[UNK]]");  // a token that only continues; U+2581 is no word
  EXPECT_EQ(Tokens(tokenizer, "un", {}), "[[CLS]][ un][[SEP]]");
  EXPECT_EQ(Tokens(tokenizer, ""), "");
  EXPECT_EQ(Tokens(tokenizer, " \t\n"), "");
}

TEST(WordPieceTest, WordsEndAtSpacesPunctuationAndChineseCharacters) {
  const Tokenizer tokenizer = Create(text::SmallWordPiece());
  EXPECT_EQ(Tokens(tokenizer, "un!!un"), "[ un][ !][ !][ un]");
  EXPECT_EQ(Tokens(tokenizer, "un\xE4\xB8\xAD\xE4\xB8\xADun"),
            "[ un][ \xE4\xB8\xAD][ \xE4\xB8\xAD][ un]");
  EXPECT_EQ(Tokens(tokenizer, "un\xE3\x80\x80un\xC2\xA0un"), "[ un][ un][ un]");
  EXPECT_EQ(Tokens(tokenizer,
                   "un\x01\xE2\x80\x8B"
                   "able\xFF\x7F"),
            "[ un][able]");  // dropped
}

TEST(WordPieceTest, CaseAndAccentsAreAsTheFileSays) {
  OwnedSpec owned = text::SmallWordPiece();
  EXPECT_EQ(Tokens(Create(owned), "UN \xC3\xBAn u\xCC\x81n"), "[ un][ un][ un]");
  owned.fields.strip_accents = false;
  EXPECT_EQ(Tokens(Create(owned), "UN \xC3\x9An"), "[ un][ \xC3\xBAn]");
  owned.fields.lower_case = false;
  owned.fields.strip_accents = std::nullopt;  // as the case
  EXPECT_EQ(Tokens(Create(owned), "UN \xC3\xBAn"), "[[UNK]][ \xC3\xBAn]");
  owned.fields.strip_accents = true;
  EXPECT_EQ(Tokens(Create(owned), "Un \xC3\xBAn"), "[[UNK]][ un]");
}

TEST(WordPieceTest, WordsOverAHundredCharactersAreUnknown) {
  const Tokenizer tokenizer = Create(text::SmallWordPiece());
  std::string word = "un";
  for (int i = 0; i < 98; ++i) word += "x";
  EXPECT_EQ(Tokens(tokenizer, word).substr(0, 8), "[ un][x]");
  EXPECT_EQ(Tokens(tokenizer, word + "x"), "[[UNK]]");
  EXPECT_EQ(Tokens(tokenizer, word + "x un"), "[[UNK]][ un]");
}

TEST(WordPieceTest, AVocabularyWithoutAnUnknownTokenIsRefused) {
  OwnedSpec owned = text::SmallWordPiece();
  owned.fields.ids.unk = std::nullopt;
  EXPECT_EQ(Refusal(owned).message(),
            "a WordPiece vocabulary needs an unknown token ([UNK]), and there is no "
            "unknown_token_id");
}

TEST(WordPieceTest, TheEndOfATextIsSepOnlyWhereThereIsOne) {
  OwnedSpec owned = text::SmallWordPiece();
  EXPECT_EQ(Create(owned).sep_id(), 3);
  owned.fields.add_sep = false;
  EXPECT_EQ(Tokens(Create(owned), "un", {}), "[[CLS]][ un]");
  owned.fields.ids.sep = 99;
  EXPECT_EQ(Refusal(owned).message(), "seperator_token_id: expected a token id below 13, found 99");
}

// --- Pairs -------------------------------------------------------------------------------------

std::string Pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second) {
  const Result<PairTokens> pair = tokenizer.EncodePair(first, second);
  EXPECT_TRUE(pair.ok()) << pair.status().message();
  std::string tokens;
  for (size_t i = 0; i < pair->tokens.size(); ++i) {
    if (static_cast<int64_t>(i) == pair->second_text) tokens += "|";
    tokens += "[" + tokenizer.EscapedToken(pair->tokens[i]) + "]";
  }
  return tokens;
}

TEST(PairTest, OneMarkStandsBehindEachTextOfBert) {
  OwnedSpec owned = text::SmallWordPiece();
  EXPECT_EQ(Pair(Create(owned), "un", "able !"), "[[CLS]][ un][[SEP]]|[ able][ !][[SEP]]");
  EXPECT_EQ(Pair(Create(owned), "[SEP]", "un").find("[[SEP]]"),
            Pair(Create(owned), "[SEP]", "un").rfind("[[SEP]]|"))
      << "what a text spells is no mark";
  owned.fields.add_sep = true;  // of one text
  EXPECT_EQ(Pair(Create(owned), "un", "un"), "[[CLS]][ un][[SEP]]|[ un][[SEP]]");
  owned.fields.add_sep = false;
  EXPECT_EQ(Pair(Create(owned), "un", "un"), "[[CLS]][ un]|[ un]");
}

// As XLM-RoBERTa: BOS <s>, EOS and separator </s>.
OwnedSpec LikeRoberta() {
  OwnedSpec owned = text::SmallUnigram();
  owned.fields.ids.bos = owned.Add("<s>", 3);
  owned.fields.ids.eos = owned.fields.ids.sep = 1;
  owned.fields.ids.unk = 2;
  owned.fields.add_bos = owned.fields.add_eos = true;
  return owned;
}

TEST(PairTest, TwoMarksStandBetweenTheTextsOfRoberta) {
  OwnedSpec owned = LikeRoberta();
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[<s>][ a][</s>][</s>]|[ ab][</s>]");
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[<s>][ a][</s>]");
  owned.fields.add_sep = true;
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[<s>][ a][</s>][</s>]|[ ab][</s>]");
  EXPECT_EQ(Tokens(Create(owned), "a", {}), "[<s>][ a][</s>]") << "one text has no separator";
  owned.fields.add_sep = false;
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[<s>][ a][</s>]|[ ab][</s>]");
  owned = LikeRoberta();
  owned.fields.ids.sep = std::nullopt;
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[<s>][ a][</s>][</s>]|[ ab][</s>]");
}

// As ModernBERT: BOS [CLS], EOS [SEP], in another kind of vocabulary.
TEST(PairTest, AnotherBeginningThanRobertasMeansOneMark) {
  OwnedSpec owned = LikeRoberta();
  owned.fields.ids.bos = owned.Add("[CLS]", 3);
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[[CLS]][ a][</s>]|[ ab][</s>]");
  owned.fields.add_eos = false;
  EXPECT_EQ(Pair(Create(owned), "a", "ab"), "[[CLS]][ a]|[ ab]");
}

}  // namespace
}  // namespace skald
