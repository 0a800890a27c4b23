// What Tokenizer::Create refuses and accepts: each malformed vocabulary is a small change to a good
// one, and the whole message is checked.

#include "text/vocab.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "text/test_vocabs.h"

namespace skald::text {
namespace {

using Change = std::function<void(OwnedSpec*)>;

Status CreateChanged(OwnedSpec owned, const Change& change) {
  change(&owned);
  const Result<Tokenizer> tokenizer = Tokenizer::Create(owned.spec());
  return tokenizer.ok() ? Ok() : tokenizer.status();
}

void ExpectRefused(const OwnedSpec& owned, const Change& change, const std::string& message) {
  const Status status = CreateChanged(owned, change);
  EXPECT_EQ(status.code(), ErrorCode::kBadModel);
  EXPECT_EQ(status.message(), message);
}
void ExpectSpmRefused(const Change& change, const std::string& message) {
  ExpectRefused(SmallSentencePiece(), change, message);
}
void ExpectBpeRefused(const Change& change, const std::string& message) {
  ExpectRefused(SmallByteLevel("gpt-2"), change, message);
}

TEST(VocabTest, TheUnchangedVocabulariesAreAccepted) {
  EXPECT_EQ(CreateChanged(SmallSentencePiece(), [](OwnedSpec*) {}).message(), "");
  EXPECT_EQ(CreateChanged(SmallByteLevel("gpt-2"), [](OwnedSpec*) {}).message(), "");
}

TEST(VocabTest, NoTokensOrOnlyEmptyOnes) {
  ExpectSpmRefused([](OwnedSpec* o) { *o = OwnedSpec{.fields = {.model = "llama"}}; },
                   "the vocabulary has no tokens");
  ExpectSpmRefused(
      [](OwnedSpec* o) {
        for (size_t i = 0; i < o->tokens.size(); ++i) {
          o->tokens[i].clear();
          o->fields.types[i] = 1;
        }
      },
      "all tokens of the vocabulary are empty");
}

TEST(VocabTest, SingleEmptyTokensAreAcceptedAndNeverMatch) {
  EXPECT_TRUE(CreateChanged(SmallSentencePiece(), [](OwnedSpec* o) {
                o->Add("", 1);
                o->Add("", 3);
                o->Add("", 4);
              }).ok());
}

TEST(VocabTest, TypesAndScoresMustBeOnePerToken) {
  ExpectSpmRefused([](OwnedSpec* o) { o->fields.types.pop_back(); },
                   "token types: expected one for each of 283 tokens, found 282");
  ExpectSpmRefused([](OwnedSpec* o) { o->fields.scores.push_back(0); },
                   "token scores: expected one for each of 283 tokens, found 284");
  ExpectSpmRefused(
      [](OwnedSpec* o) { o->fields.scores.clear(); },
      "token scores are missing: a SentencePiece BPE vocabulary needs one for each token");
  EXPECT_TRUE(
      CreateChanged(SmallByteLevel("gpt-2"), [](OwnedSpec* o) { o->fields.types.clear(); }).ok());
}

TEST(VocabTest, TypesOutsideOneToSix) {
  for (const int64_t type : {int64_t{0}, int64_t{7}, int64_t{99}, int64_t{-1}, int64_t{1} << 40}) {
    ExpectSpmRefused([type](OwnedSpec* o) { o->fields.types[260] = type; },
                     "token 260: type: expected 1 to 6, found " + std::to_string(type));
  }
}

TEST(VocabTest, ScoreThatIsNoNumber) {
  ExpectSpmRefused([](OwnedSpec* o) { o->fields.scores[260] = std::nanf(""); },
                   "token 260: score is not a number");
  EXPECT_TRUE(CreateChanged(SmallSentencePiece(), [](OwnedSpec* o) {
                o->fields.scores[260] = -INFINITY;
              }).ok());
}

TEST(VocabTest, ByteTokensMustBeSpelledExactly) {
  for (const std::string text : {"<0x-1>", "<0xGG>", "<0x1>", "<0x0a>", "<0x000>", "0x0A", ""}) {
    ExpectSpmRefused([&](OwnedSpec* o) { o->tokens[13] = text; },
                     "token 13: a byte token must be spelled like <0x0A>, found '" + text + "'");
  }
}

TEST(VocabTest, TokensMayBeLongButNotWithoutLimit) {
  EXPECT_TRUE(CreateChanged(SmallSentencePiece(), [](OwnedSpec* o) {
                o->Add(std::string(2048, 'x'), 1);
                o->Add(std::string(1024, 'y'), 4);
              }).ok());
  ExpectSpmRefused([](OwnedSpec* o) { o->tokens[260] = std::string(1 << 20, 'x'); },
                   "token 260: too long: at most 2048 bytes, found 1048576");
  ExpectSpmRefused([](OwnedSpec* o) { o->tokens[260] = std::string(2049, 'x'); },
                   "token 260: too long: at most 2048 bytes, found 2049");
  EXPECT_TRUE(CreateChanged(SmallByteLevel("gpt-2"), [](OwnedSpec* o) {
                o->tokens.push_back(std::string(16384, 'x'));
                o->fields.types.push_back(1);
              }).ok());
  ExpectSpmRefused([](OwnedSpec* o) { o->tokens[2] = std::string(1025, 'x'); },
                   "token 2: too long: at most 1024 bytes, found 1025");
}

TEST(VocabTest, TwoTokensWithTheSameText) {
  ExpectSpmRefused([](OwnedSpec* o) { o->Add("abc", 1); },
                   "token 283: has the same text as token 265, 'abc'");
  ExpectBpeRefused(
      [](OwnedSpec* o) {
        o->tokens.push_back("<tool>");
        o->fields.types.push_back(3);
      },
      "token 282: has the same text as token 280, '<tool>'");
}

TEST(VocabTest, SpecialIdsMustBeInTheVocabulary) {
  for (const int64_t id : {int64_t{283}, int64_t{-1}, int64_t{1} << 31, int64_t{0xFFFFFFFF}}) {
    const std::string found = ": expected a token id below 283, found " + std::to_string(id);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.bos = id; }, "bos_token_id" + found);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.eos = id; }, "eos_token_id" + found);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.eot = id; }, "eot_token_id" + found);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.unk = id; }, "unknown_token_id" + found);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.pad = id; }, "padding_token_id" + found);
    ExpectSpmRefused([id](OwnedSpec* o) { o->fields.ids.fim_middle = id; },
                     "fim_mid_token_id" + found);
  }
}

TEST(VocabTest, BoundaryTokensMustExist) {
  ExpectBpeRefused([](OwnedSpec* o) { o->fields.add_bos = true; },
                   "add_bos_token is true, but there is no bos_token_id");
  ExpectBpeRefused(
      [](OwnedSpec* o) {
        o->fields.add_eos = true;
        o->fields.ids.eos.reset();
      },
      "add_eos_token is true, but there is no eos_token_id");
}

TEST(VocabTest, MergesMustBeTwoKnownTokensThatFormAThird) {
  const auto replace = [](std::string merge) {
    return [merge](OwnedSpec* o) { o->merges[3] = merge; };
  };
  ExpectBpeRefused(replace("aa"),
                   "merge 3 'aa': expected two tokens with a space between them, found no space");
  ExpectBpeRefused(replace(""),
                   "merge 3 '': expected two tokens with a space between them, found no space");
  ExpectBpeRefused(replace("a "),
                   "merge 3 'a ': expected two tokens with a space between them, found one");
  ExpectBpeRefused(replace("zz a"), "merge 3 'zz a': its left half is not in the vocabulary");
  ExpectBpeRefused(replace("a zz"), "merge 3 'a zz': its right half is not in the vocabulary");
  ExpectBpeRefused(replace("a b c"), "merge 3 'a b c': its right half is not in the vocabulary");
  ExpectBpeRefused(replace("z z"), "merge 3 'z z': its result is not in the vocabulary");
}

TEST(VocabTest, MergesListedTwiceCountOnce) {
  EXPECT_TRUE(CreateChanged(SmallByteLevel("gpt-2"), [](OwnedSpec* o) {
                o->merges.push_back(o->merges[0]);
              }).ok());
}

TEST(VocabTest, TooManyMergesAndTokens) {
  OwnedSpec owned = SmallByteLevel("gpt-2");
  TokenizerSpec spec = owned.spec();
  spec.merges.assign((size_t{1} << 22) + 1, "a a");
  EXPECT_EQ(Tokenizer::Create(spec).status().message(),
            "the vocabulary has too many merges: at most 4194304, found 4194305");
  spec = owned.spec();
  spec.tokens.assign((size_t{1} << 21) + 1, "a");
  EXPECT_EQ(Tokenizer::Create(spec).status().message(),
            "the vocabulary has too many tokens: at most 2097152, found 2097153");
}

TEST(VocabTest, UnknownModelsAndPreTokenizersAreUnsupportedAndListed) {
  Status status =
      CreateChanged(SmallSentencePiece(), [](OwnedSpec* o) { o->fields.model = "rwkv"; });
  EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(status.message().starts_with(
      "tokenizer model 'rwkv' is not supported; supported are llama (SentencePiece BPE), gpt2 "
      "(byte-level BPE), gemma4 (BPE on whole lines)"))
      << status.message();
  status = CreateChanged(SmallByteLevel("kimi-k9"), [](OwnedSpec*) {});
  EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
  EXPECT_NE(status.message().find("'kimi-k9' is not known; known are default, "),
            std::string::npos);
}

TEST(ParseByteTokenTest, EveryByteHasOneSpelling) {
  EXPECT_EQ(ParseByteToken("<0x00>"), 0);
  EXPECT_EQ(ParseByteToken("<0x0A>"), 10);
  EXPECT_EQ(ParseByteToken("<0xFF>"), 255);
  EXPECT_EQ(ParseByteToken("<0xff>"), -1);
}

}  // namespace
}  // namespace skald::text
