// Time bounds: a megabyte of anything is encoded within a second. What the bound guards against is
// quadratic time, which would take minutes, so it is generous; processor time, not wall time, so
// that a busy machine does not matter.

#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "skald/tokenizer.h"
#include "text/pre_tokenizer.h"
#include "text/pre_tokenizer_rules.h"
#include "text/test_vocabs.h"

namespace skald {
namespace {

#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
constexpr size_t kBytes = size_t{1} << 17;  // sanitizers and debug builds are about 8 times slower
#else
constexpr size_t kBytes = size_t{1} << 20;
#endif
constexpr size_t kFewerBytes = kBytes / 8;  // quadratic time would still be a minute
constexpr double kSeconds = 1.0;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string Repeat(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

std::string Letters(size_t bytes) {
  std::string text;
  uint64_t state = 7;
  while (text.size() < bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += static_cast<char>('a' + (state >> 33) % 3);
  }
  return text;
}

void CheckAllTexts(const Tokenizer& tokenizer, size_t bytes) {
  const std::pair<const char*, std::string> texts[] = {
      {"one letter", Repeat("a", bytes)},
      {"newlines", Repeat("\n", bytes)},
      {"spaces", Repeat(" ", bytes)},
      {"emoji", Repeat("\xF0\x9F\x98\x80", bytes)},
      {"digits", Repeat("1234567890", bytes)},
      {"random letters", Letters(bytes)},
      {"ill-formed", Repeat("\xFF\xE2\x96", bytes)},
      {"newline and space", Repeat("\n ", bytes)},
      {"almost special", Repeat("<tool", bytes)},
      {"special", Repeat("<tool>", bytes)},
      {"words", Repeat("abc cab 12 ", bytes)},
  };
  for (const auto& [name, text] : texts) {
    const double start = ProcessorSeconds();
    const auto ids = tokenizer.Encode(text);
    const double encoded = ProcessorSeconds();
    ASSERT_TRUE(ids.ok()) << name << ": " << ids.status().message();
    EXPECT_LT(encoded - start, kSeconds) << name;
    const std::string decoded = tokenizer.DecodeBytes(*ids);
    EXPECT_LT(ProcessorSeconds() - encoded, kSeconds) << name;
    EXPECT_TRUE(decoded == text) << name;
  }
}

TEST(TokenizerSpeedTest, AMegabyteOfAnythingInSentencePiece) {
  text::OwnedSpec owned = text::SmallSentencePiece();
  owned.fields.add_space_prefix = false;  // so that all texts decode to themselves
  const auto tokenizer = Tokenizer::Create(owned.spec());
  ASSERT_TRUE(tokenizer.ok());
  CheckAllTexts(*tokenizer, kBytes);
}

TEST(TokenizerSpeedTest, AMegabyteOfAnythingInByteLevel) {
  const auto tokenizer = Tokenizer::Create(text::SmallByteLevel("llama-bpe").spec());
  ASSERT_TRUE(tokenizer.ok());
  CheckAllTexts(*tokenizer, kBytes);
}

TEST(TokenizerSpeedTest, AMegabyteOfAnythingInWholeLines) {
  const auto tokenizer = Tokenizer::Create(text::SmallWholeLines().spec());
  ASSERT_TRUE(tokenizer.ok());
  CheckAllTexts(*tokenizer, kBytes);
}

// They normalize: what comes back is another text.
TEST(TokenizerSpeedTest, AMegabyteOfAnythingInUnigramAndWordPiece) {
  for (const text::OwnedSpec& owned : {text::SmallUnigram(), text::SmallWordPiece()}) {
    const auto tokenizer = Tokenizer::Create(owned.spec());
    ASSERT_TRUE(tokenizer.ok());
    for (const std::string& text :
         {Repeat("a", kBytes), Repeat("\n", kBytes), Repeat(" ", kBytes), Repeat("un ", kBytes),
          Repeat("\xF0\x9F\x98\x80", kBytes), Repeat("\xE4\xB8\xAD", kBytes),
          Repeat("\xC3\xA9\xCC\x81", kBytes), Repeat("\xFF", kBytes), Letters(kBytes)}) {
      const double start = ProcessorSeconds();
      EXPECT_TRUE(tokenizer->Encode(text).ok());
      EXPECT_LT(ProcessorSeconds() - start, kSeconds) << owned.fields.model << text.substr(0, 4);
    }
  }
}

// Texts in which a pattern may look far ahead from many places and find nothing, or go back as far
// as it came.
TEST(TokenizerSpeedTest, EveryRuleIsNearLinear) {
  constexpr size_t kFew = kBytes / 16;
  const std::pair<const char*, std::string> texts[] = {
      {"one letter", Repeat("a", kBytes)},
      {"newlines", Repeat("\n", kBytes)},
      {"spaces", Repeat(" ", kBytes)},
      {"emoji", Repeat("\xF0\x9F\x98\x80", kBytes)},
      {"CJK", Repeat("\xE4\xB8\xAD", kBytes)},
      {"capitals", Repeat("A", kFewerBytes)},
      {"kana", Repeat("\xE3\x81\x82", kFewerBytes)},
      {"marks", Repeat("\xCC\x81", kFewerBytes)},
      {"digits", Repeat("7", kFewerBytes)},
      {"digits and a letter", Repeat("7", kBytes) + "a"},
      {"spaces and a digit", Repeat(" ", kBytes) + "1"},
      {"letters apart", Repeat("a ", kFewerBytes)},
      {"apostrophes", Repeat("'", kFewerBytes)},
      {"sentinels", Repeat("<sentinel:", kFewerBytes) + Repeat("1", kFewerBytes)},
  };
  std::set<const void*> seen;  // many names are one rule
  for (const text::PreTokenizerRule& rule : text::PreTokenizerRules()) {
    if (!seen.insert(rule.stages.data()).second) continue;
    SCOPED_TRACE(rule.name);
    const auto pieces = text::PreTokenizer::Create(rule);
    ASSERT_TRUE(pieces.ok());
    for (const auto& [name, text] : texts) {
      text::Pace pace;
      const double start = ProcessorSeconds();
      const auto split = pieces->Split(text, pace);
      EXPECT_LT(ProcessorSeconds() - start, kSeconds) << name;
      EXPECT_TRUE(split.ok()) << name << ": " << split.status().message();
    }
    const bool bytes = rule.alphabet == text::Alphabet::kBytes;
    const auto tokenizer = Tokenizer::Create(
        (bytes ? text::SmallByteLevel(rule.name) : text::SmallWholeLines()).spec());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    CheckAllTexts(*tokenizer, kFew);
  }
  EXPECT_GE(seen.size(), 25u);
}

// A megabyte of vocabulary, every token a prefix of the next ones: the worst for hashing, and for
// the automaton of special tokens.
TEST(TokenizerSpeedTest, AMegabyteOfVocabularyIsBuiltWithinTwoSeconds) {
  for (const int64_t type : {1, 4}) {
    text::OwnedSpec owned = text::SmallSentencePiece();
    owned.fields.add_space_prefix = false;
    size_t bytes = 0;
    for (size_t length = 5; bytes < kBytes && length < 1024; ++length) {
      owned.Add(std::string(length, 'a'), type);
      owned.Add(std::string(length, 'b') + "c", type);
      bytes += 2 * length;
    }
    const double start = ProcessorSeconds();
    const auto tokenizer = Tokenizer::Create(owned.spec());
    EXPECT_LT(ProcessorSeconds() - start, 2 * kSeconds);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    CheckAllTexts(*tokenizer, kFewerBytes);
  }
}

}  // namespace
}  // namespace skald
