#include "skald/text_sink.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/transcript.h"

namespace skald {
namespace {

// Text through the tokenizer of the bundled model, token by token.
class TextSinkTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static std::shared_ptr<TextSink> Make(TextOptions options, const Request& request = {}) {
    auto sink = TextSink::Create(model_->tokenizer(), request, std::move(options));
    EXPECT_TRUE(sink.ok()) << sink.status().message();
    return *sink;
  }
  static std::vector<TokenId> Encode(std::string_view text) {
    return *model_->tokenizer().Encode(text, {.boundary = BoundaryTokens::kNone});
  }
  static std::string Decode(std::span<const TokenId> tokens) {
    return model_->tokenizer().Decode(tokens, {.from = DecodeFrom::kContinuation});
  }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> TextSinkTest::model_;

Event Token(TokenId token, int64_t index, int32_t sequence = 0) {
  return {.sequence = sequence, .what = TokenEvent{.token = token, .index = index}};
}
Event End(FinishReason reason = FinishReason::kLength, int32_t sequence = 0) {
  return {.sequence = sequence, .what = SequenceFinishedEvent{.reason = reason}};
}

// All that can be read now of one sequence.
struct Read {
  std::string text;
  int64_t events = 0;
  int32_t stop_index = -1;
};
Read ReadNow(TextSink& sink, int32_t sequence = 0) {
  Read read;
  while (std::optional<TextEvent> next = sink.TryNext()) {
    ++read.events;
    if (next->event.sequence != sequence) continue;
    read.text += next->text;
    if (next->stop_index >= 0) read.stop_index = next->stop_index;
  }
  return read;
}

TEST_F(TextSinkTest, ShowsTheTextOfTokens) {
  const std::vector<TokenId> tokens = Encode(" The fox ran.");
  const auto sink = Make({});
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_TRUE(sink->Push(Token(tokens[i], static_cast<int64_t>(i))) == Listening::kGoOn);
  }
  EXPECT_TRUE(sink->Push(End()) == Listening::kGoOn);
  const Read read = ReadNow(*sink);
  EXPECT_EQ(read.text, Decode(tokens));
  EXPECT_EQ(read.events, static_cast<int64_t>(tokens.size()) + 1);
  EXPECT_EQ(read.stop_index, -1);
}

// Wherever it begins and ends among the tokens.
TEST_F(TextSinkTest, EndsTheSequenceAtTheTokenThatCompletesAStopString) {
  const std::vector<TokenId> tokens = Encode(" The fox ran to the river and the river sang.");
  const std::string text = Decode(tokens);
  for (const size_t length : {1, 2, 7, 15}) {
    for (size_t begin = 0; begin + length <= text.size(); ++begin) {
      const std::string stop = text.substr(begin, length);
      const size_t at = text.find(stop);
      const auto sink = Make({.stop_strings = {"never", stop}});
      size_t pushed = 0;
      while (sink->Push(Token(tokens[pushed], static_cast<int64_t>(pushed))) == Listening::kGoOn) {
        ASSERT_LT(++pushed, tokens.size());
      }
      const auto upto = static_cast<size_t>(pushed);
      EXPECT_LT(Decode(std::span(tokens).first(upto)).size(), at + length) << stop;
      EXPECT_GE(Decode(std::span(tokens).first(upto + 1)).size(), at + length) << stop;
      sink->Push(End(FinishReason::kStop));
      const Read read = ReadNow(*sink);
      EXPECT_EQ(read.text, text.substr(0, at));
      EXPECT_EQ(read.stop_index, 1);
    }
  }
}

TEST_F(TextSinkTest, HoldsBackWhatMayBeginAStopStringUntilTheEnd) {
  const std::vector<TokenId> tokens = Encode(" The fox");
  const auto sink = Make({.stop_strings = {" The fox and"}});
  for (size_t i = 0; i < tokens.size(); ++i) sink->Push(Token(tokens[i], static_cast<int64_t>(i)));
  EXPECT_EQ(ReadNow(*sink).text, "");
  sink->Push(End(FinishReason::kCancelled));
  EXPECT_EQ(ReadNow(*sink).text, " The fox");
}

TEST_F(TextSinkTest, StopStringsDoNotCountInTheFirstMinTokens) {
  const std::vector<TokenId> tokens = Encode(" no no no no");
  Request request;
  request.stop.min_tokens = static_cast<int64_t>(tokens.size()) - 1;
  const auto sink = Make({.stop_strings = {"no"}}, request);
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(sink->Push(Token(tokens[i], static_cast<int64_t>(i))) == Listening::kEndSequence,
              i + 1 == tokens.size());
  }
  EXPECT_EQ(ReadNow(*sink).text, " no no no ");
}

TEST_F(TextSinkTest, SequencesHaveTextsOfTheirOwn) {
  const std::vector<TokenId> tokens = Encode(" one two");
  const auto sink = Make({.stop_strings = {"two"}}, {.prompt = {}, .n = 2});
  for (size_t i = 0; i < tokens.size(); ++i) {
    sink->Push(Token(tokens[i], static_cast<int64_t>(i), 1));
  }
  EXPECT_TRUE(sink->Push(Token(tokens[0], 0, 0)) == Listening::kGoOn);
  sink->Push(End(FinishReason::kLength, 0));
  EXPECT_EQ(ReadNow(*sink, 0).text, Decode(std::span(tokens).first(1)));
}

TEST_F(TextSinkTest, TellsTheReaderOnceWhenThereIsSomething) {
  int told = 0;
  const auto sink = Make({.on_ready = [&] { ++told; }});
  sink->Push(Token(5, 0));
  sink->Push(Token(5, 1));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(ReadNow(*sink).events, 2);
  sink->Push(Token(5, 2));
  EXPECT_EQ(told, 2);
}

TEST_F(TextSinkTest, IsBoundedAndCanBeClosed) {
  const auto sink = Make({.capacity = 1});
  EXPECT_TRUE(sink->HasRoom(4));
  EXPECT_FALSE(sink->HasRoom(5));
  sink->Push(Token(5, 0));
  EXPECT_FALSE(sink->HasRoom(4));
  sink->Close();
  EXPECT_TRUE(sink->HasRoom(1000));
  EXPECT_TRUE(sink->Push(Token(5, 1)) == Listening::kGone);
}

TEST_F(TextSinkTest, AnEmptyStopStringIsRefused) {
  EXPECT_FALSE(TextSink::Create(model_->tokenizer(), {}, {.stop_strings = {""}}).ok());
}

// Through the engine: no token behind the stop string is computed, siblings go on to their own
// ends, and everything else about a token comes with it.
TEST_F(TextSinkTest, TheEngineEndsSequencesAtStopStrings) {
  Result<Engine> engine = Engine::Create(*model_, {.context = 128, .threads = 2});
  ASSERT_TRUE(engine.ok());
  Request request{.prompt = *model_->tokenizer().Encode("Once upon a time")};
  request.sampling.top_logprobs = 3;
  request.stop = {.max_tokens = 60, .ignore_eos = true};
  request.n = 4;
  const auto sink = Make({.stop_strings = {"."}}, request);
  ASSERT_TRUE(engine->Submit(request, sink).ok());
  Transcript answer(request);
  while (!answer.end) answer.Add(sink->Next());
  for (TranscriptSequence& sequence : answer.sequences) {
    const std::string whole = Decode(sequence.tokens);
    const size_t dot = whole.find('.');
    EXPECT_EQ(sequence.text, whole.substr(0, dot));
    const bool stopped = dot != std::string::npos;
    EXPECT_EQ(FinishReasonName(*sequence.reason), stopped ? "stop" : "length");
    EXPECT_EQ(sequence.stop_index, stopped ? 0 : -1);
    ASSERT_EQ(sequence.logprobs.size(), sequence.tokens.size());
    for (size_t i = 0; i < sequence.top.size(); ++i) {
      ASSERT_EQ(sequence.top[i].size(), 3u);
      EXPECT_GE(sequence.top[i][0].logprob, sequence.top[i][1].logprob);
      EXPECT_GE(sequence.top[i][0].logprob, sequence.logprobs[i]);
    }
    // The token before the last did not complete it yet.
    sequence.tokens.pop_back();
    EXPECT_EQ(Decode(sequence.tokens).find('.'), std::string::npos);
  }
}

}  // namespace
}  // namespace skald
