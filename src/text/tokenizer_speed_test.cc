// Time bounds: a megabyte of anything is encoded within a second. What the bound guards against is
// quadratic time, which would take minutes, so it is generous; processor time, not wall time, so
// that a busy machine does not matter.

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "skald/tokenizer.h"
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

TEST(TokenizerSpeedTest, EveryKindOfPatternIsNearLinear) {
  for (const char* pre : {"gpt-2", "qwen2", "default", "deepseek-llm", "deepseek-coder",
                          "deepseek-v3", "smollm", "tekken", "gpt-4o"}) {
    const auto tokenizer = Tokenizer::Create(text::SmallByteLevel(pre).spec());
    ASSERT_TRUE(tokenizer.ok());
    CheckAllTexts(*tokenizer, kFewerBytes);
  }
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
