// A vocabulary takes memory and time in proportion to its bytes in the file, and a text in
// proportion to its length, whatever both hold. Bounds are factors of the input; times are compared
// between an input and one of four times its size, so that they hold on any machine.

#include "support/cost.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/tokenizer.h"
#include "text/charsmap_builder.h"
#include "text/pace.h"
#include "text/test_vocabs.h"
#include "text/vocab.h"

namespace skald::text {
namespace {

#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
constexpr size_t kTextBytes = size_t{1} << 16;
constexpr size_t kVocabBytes = size_t{1} << 18;
#else
constexpr size_t kTextBytes = size_t{1} << 18;
constexpr size_t kVocabBytes = size_t{1} << 20;
#endif

// Four times the input: n log n is 4.5 times the work, and twice that where caches no longer hold
// it; n^2 is 16 times, and for these sizes seconds.
constexpr double kFourTimes = 12;
// Below this a difference is noise.
constexpr double kSeconds = 0.05;

std::string Repeat(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  text.resize(bytes);
  return text;
}

// --- texts -----------------------------------------------------------------------------------

void CheckEncoding(const Tokenizer& tokenizer, const char* name, std::string_view unit) {
  const auto cost = [&](size_t bytes) {
    const std::string text = Repeat(unit, bytes);
    return test::LeastCostOf(
        3, [&] { EXPECT_TRUE(tokenizer.Encode(text, {.special = SpecialTokens::kParse}).ok()); });
  };
  // A symbol, a candidate and a token for each byte, in vectors that double.
  constexpr int64_t kBytesPerByte = 160;
  const test::Cost small = cost(kTextBytes / 4);
  const test::Cost large = cost(kTextBytes);
  EXPECT_LT(large.peak_bytes, kBytesPerByte * static_cast<int64_t>(kTextBytes)) << name;
  EXPECT_LT(large.total_bytes, 2 * kBytesPerByte * static_cast<int64_t>(kTextBytes)) << name;
  EXPECT_LT(large.cpu_seconds, kFourTimes * small.cpu_seconds + kSeconds) << name;
}

void CheckEncoding(const Tokenizer& tokenizer) {
  const std::pair<const char*, std::string_view> units[] = {
      {"one letter", "a"},
      {"newlines", "\n"},
      {"spaces", " "},
      {"emoji", "\xF0\x9F\x98\x80"},
      {"a family of emoji", "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D"},
      {"Chinese and Japanese", "\xE4\xB8\xAD\xE6\x96\x87\xE3\x81\x82\xE3\x82\xA2"},
      {"combining marks", "e\xCC\x81\xCC\x81"},
      {"ill-formed", "\xFF\xE2\x96"},
      {"almost special", "<tool"},
      {"special", "<tool><|im_end|>"},
      {"apostrophes", "'s'"},
      {"digits", "1234567890"},
  };
  for (const auto& [name, unit] : units) CheckEncoding(tokenizer, name, unit);
}

TEST(CostOfTexts, SentencePiece) {
  const auto tokenizer = Tokenizer::Create(SmallSentencePiece().spec());
  ASSERT_TRUE(tokenizer.ok());
  CheckEncoding(*tokenizer);
}

TEST(CostOfTexts, ByteLevel) {
  for (const char* pre : {"llama-bpe", "gpt-4o", "deepseek-v3"}) {
    const auto tokenizer = Tokenizer::Create(SmallByteLevel(pre).spec());
    ASSERT_TRUE(tokenizer.ok());
    CheckEncoding(*tokenizer);
  }
}

TEST(CostOfTexts, WholeLinesUnigramAndWordPiece) {
  OwnedSpec unigram = SmallUnigram();
  unigram.fields.precompiled_charsmap = CharsmapBuilder().Add("ab", "c").Add("s", "").Build();
  for (const OwnedSpec& owned : {SmallWholeLines(), unigram, SmallWordPiece()}) {
    const auto tokenizer = Tokenizer::Create(owned.spec());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    CheckEncoding(*tokenizer);
  }
}

TEST(CostOfTexts, Composed) {
  const auto tokenizer = Tokenizer::Create(SmallByteLevel("qwen35").spec());
  ASSERT_TRUE(tokenizer.ok());
  CheckEncoding(*tokenizer);
}

// Each letter is a merge, each merge hashes what it forms: as long as tokens may be.
TEST(CostOfTexts, OfTokensThatGrowByALetter) {
  OwnedSpec owned = SmallSentencePiece();
  std::string token = "~~";
  for (; token.size() <= kMaxMergedTokenBytes; token += '~') owned.Add(token, 1);
  const auto grown = Tokenizer::Create(owned.spec());
  ASSERT_TRUE(grown.ok()) << grown.status().message();
  const auto seconds = [&](std::string_view unit) {
    const std::string text = Repeat(unit, kTextBytes);
    return test::LeastCostOf(3, [&] { EXPECT_TRUE(grown->Encode(text).ok()); }).cpu_seconds;
  };
  // Seven times in a release build: 0.5 us a byte. With tokens of 16 KiB it would be fifty.
  EXPECT_LT(seconds("~"), 16 * seconds("ab ") + kSeconds);
}

// --- texts that nobody waits for any more ------------------------------------------------------

// Returns how often it asks.
int64_t CheckStop(const Tokenizer& tokenizer, const std::string& text) {
  // How often it asks, and what it costs: all of it, and stopped at the `at`th question.
  const auto encode = [&](int64_t at, ErrorCode expected) {
    int64_t questions = 0;
    const auto should_stop = [&] { return ++questions == at; };
    const test::Cost cost = test::LeastCostOf(3, [&] {
      questions = 0;
      const auto ids = tokenizer.Encode(text, {.stop = StopCheck(should_stop)});
      EXPECT_EQ(ids.status().code(), expected) << text.substr(0, 9);
    });
    return std::pair(questions, cost.cpu_seconds);
  };
  const auto [all, all_seconds] = encode(0, ErrorCode::kOk);
  EXPECT_GE(all, static_cast<int64_t>(text.size() >> 15)) << text.substr(0, 9);
  for (const int64_t at : {int64_t{1}, all}) {
    EXPECT_EQ(encode(at, ErrorCode::kCancelled).first, at) << text.substr(0, 9) << ": asked again";
  }
  EXPECT_LT(encode(1, ErrorCode::kCancelled).second, all_seconds / 2) << text.substr(0, 9);
  return all;
}

TEST(PaceTest, AsksNowAndThenAndStaysStopped) {
  int questions = 0;
  const auto should_stop = [&] { return ++questions == 3; };
  Pace pace{StopCheck(should_stop)};
  int units = 0;
  while (pace.Go(1)) ++units;
  EXPECT_FALSE(pace.Go(1));
  EXPECT_FALSE(pace.Go(9000));
  EXPECT_EQ(questions, 3);
  EXPECT_GT(units, 3 * 8000);
  EXPECT_LT(units, 3 * 8300);
  EXPECT_EQ(Pace::Stopped().code(), ErrorCode::kCancelled);
}

TEST(CostOfTexts, AreStoppedSoonAfterTheCallerSaysSo) {
  const auto texts = [](const Tokenizer& tokenizer) {
    // Twice for each byte at least: as it is cut, and as it is merged.
    constexpr auto kOnce = static_cast<int64_t>(kTextBytes >> 13);
    EXPECT_GT(CheckStop(tokenizer, Repeat("a", kTextBytes)), kOnce * 3 / 2);  // one long piece
    EXPECT_GT(CheckStop(tokenizer, Repeat("ab ba ", kTextBytes)), kOnce * 3 / 2);
    CheckStop(tokenizer, Repeat("\xF0\x9F\x98\x80", kTextBytes));
    const std::string text = Repeat("ab ", kTextBytes);
    const TextRange all{0, text.size()};
    const auto stop = [] { return true; };
    EXPECT_EQ(tokenizer.EncodeMixed(text, {&all, 1}, BoundaryTokens::kNone, StopCheck(stop))
                  .status()
                  .code(),
              ErrorCode::kCancelled);
  };
  texts(*Tokenizer::Create(SmallSentencePiece().spec()));
  texts(*Tokenizer::Create(SmallByteLevel("llama-bpe").spec()));
  CheckStop(*Tokenizer::Create(SmallUnigram().spec()), Repeat("ab ba ", kTextBytes));
  CheckStop(*Tokenizer::Create(SmallWordPiece().spec()), Repeat("un able ", kTextBytes));
  CheckStop(*Tokenizer::Create(SmallByteLevel("qwen2").spec()), Repeat("e\xCC\x81", kTextBytes));
}

// --- vocabularies ----------------------------------------------------------------------------

enum class Shape : uint8_t { kShort, kPrefixes, kSuffixes, kRandom };

// `bytes` bytes of tokens of one type beside those of a small vocabulary.
OwnedSpec Vocabulary(int64_t type, Shape shape, size_t bytes) {
  OwnedSpec owned = SmallSentencePiece();
  uint64_t random = 7;
  size_t added = 0;
  for (size_t i = 0; added < bytes; ++i) {
    // "~" is in no token of the small vocabulary.
    std::string token = "~" + std::to_string(i);
    const size_t length = 8 + i % 1000;
    if (shape == Shape::kPrefixes) token = std::string(length, 'a') + token;
    if (shape == Shape::kSuffixes) token = token + "~" + std::string(length, 'a');
    if (shape == Shape::kRandom) {
      for (size_t at = 0; at < 200; ++at) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        token += static_cast<char>(1 + (random >> 33) % 255);
      }
    }
    added += token.size();
    owned.Add(std::move(token), type);
  }
  return owned;
}

int64_t FileBytes(const OwnedSpec& owned) {
  int64_t bytes = 0;
  for (const std::string& token : owned.tokens)
    bytes += static_cast<int64_t>(token.size()) + 8 + 4 + 4;  // length, type and score
  for (const std::string& merge : owned.merges) bytes += static_cast<int64_t>(merge.size()) + 8;
  return bytes;
}

void CheckVocabulary(const char* name, const OwnedSpec& small, const OwnedSpec& large) {
  const auto cost = [](const OwnedSpec& owned) {
    const TokenizerSpec spec = owned.spec();
    return test::LeastCostOf(3, [&] {
      const auto tokenizer = Tokenizer::Create(spec);
      EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    });
  };
  constexpr int64_t kBytesPerByte = 24;
  // The smaller is built in caches that a hundred thousand short tokens leave: a token then costs
  // up to five times as much. What is quadratic takes seconds for so many.
  constexpr double kLeavingCaches = 0.5;
  const test::Cost few = cost(small);
  const test::Cost many = cost(large);
  EXPECT_LT(many.peak_bytes, kBytesPerByte * FileBytes(large) + (1 << 20)) << name;
  EXPECT_LT(many.cpu_seconds, kFourTimes * few.cpu_seconds + kLeavingCaches) << name;
}

TEST(CostOfVocabularies, IsInProportionForEveryTypeAndShape) {
  constexpr std::pair<const char*, Shape> kShapes[] = {{"short", Shape::kShort},
                                                       {"prefixes", Shape::kPrefixes},
                                                       {"suffixes", Shape::kSuffixes},
                                                       {"random", Shape::kRandom}};
  for (const int64_t type : {1, 3, 4}) {
    for (const auto& [name, shape] : kShapes) {
      SCOPED_TRACE(type);
      CheckVocabulary(name, Vocabulary(type, shape, kVocabBytes / 4),
                      Vocabulary(type, shape, kVocabBytes));
    }
  }
}

// Merges of every two letters, over and over.
OwnedSpec Merges(size_t count) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  const size_t known = owned.merges.size();
  for (size_t i = 0; i < count; ++i) owned.merges.push_back(owned.merges[i % known]);
  return owned;
}

TEST(CostOfVocabularies, OfMergesIsInProportion) {
  CheckVocabulary("merges", Merges(kVocabBytes / 64), Merges(kVocabBytes / 16));
}

TEST(CostOfVocabularies, SpecialTokensAreBoundedTogether) {
  const auto create = [](int64_t type, size_t bytes) {
    const OwnedSpec owned = Vocabulary(type, Shape::kRandom, bytes);
    const auto tokenizer = Tokenizer::Create(owned.spec());
    return tokenizer.ok() ? std::string("ok") : tokenizer.status().message();
  };
  constexpr size_t kRest = 4096;  // of the small vocabulary, and a token more than asked for
  for (const int64_t type : {2, 3, 4}) {
    if (type == 4) {
      EXPECT_EQ(create(type, kMaxSpecialBytes - kRest), "ok");
    }
    const std::string message = create(type, kMaxSpecialBytes + 1);
    EXPECT_NE(message.find("the control and user-defined tokens are too long together: at most "
                           "4194304 bytes, found 4194"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace skald::text
