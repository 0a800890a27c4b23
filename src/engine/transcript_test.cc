#include "skald/transcript.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald {
namespace {

// Two sequences of one prompt of three tokens, the second the better one.
std::vector<Event> Story() {
  const auto at = [](double seconds, int32_t sequence, auto what) {
    return Event{.sequence = sequence, .seconds = seconds, .what = what};
  };
  return {at(10, 0, QueuedEvent{.total = 3}),
          at(11, 0, AdmittedEvent{.done = 2, .total = 3, .from = {.memory = 1, .disk = 1}}),
          at(12, 0, TokenEvent{.token = 5, .logprob = -1, .top = {{7, -0.5}}}),
          at(12, 1, TokenEvent{.token = 7, .logprob = -0.5, .top = {{7, -0.5}}}),
          at(13, 1, PreemptedEvent{.total = 4}),
          at(14, 1, ResumedEvent{.done = 3, .total = 4, .from = {.memory = 3}}),
          at(15, 0, SequenceFinishedEvent{.reason = FinishReason::kLength}),
          at(16, 1,
             TokenEvent{.token = 8,
                        .logprob = -0.25,
                        .index = 1,
                        .top = {{8, -0.25}},
                        .draw = {.mass = 3, .total = 4}}),
          at(16, 1, SequenceFinishedEvent{.reason = FinishReason::kStop, .score = 2}),
          at(18, 0, FinishedEvent{.reason = FinishReason::kStop, .answer = {1}})};
}
Request OfStory() { return {.prompt = {1, 2, 3}, .best_of = 2}; }

Transcript Fold(TranscriptKeeps keeps) {
  Transcript answer(OfStory(), keeps);
  for (const Event& event : Story()) answer.Add({.event = event, .text = "a"});
  return answer;
}

TEST(Transcript, IsWhatTheEventsAmountTo) {
  const Transcript answer = Fold({.seconds = true, .draws = true});
  ASSERT_EQ(answer.sequences.size(), 2u);
  EXPECT_EQ(&answer.best(), &answer.sequences[1]);
  EXPECT_EQ(answer.sequences[0].tokens, std::vector<TokenId>{5});
  EXPECT_EQ(FinishReasonName(*answer.sequences[0].reason), "length");
  EXPECT_EQ(answer.best().tokens, (std::vector<TokenId>{7, 8}));
  EXPECT_EQ(answer.best().logprobs, (std::vector<double>{-0.5, -0.25}));
  EXPECT_EQ(answer.best().top[1][0].token, 8);
  ASSERT_EQ(answer.best().draws.size(), 2u);
  EXPECT_EQ(answer.best().draws[1], (TokenDraw{.mass = 3, .total = 4}));
  EXPECT_EQ(answer.best().seconds, (std::vector<double>{12, 16}));
  EXPECT_EQ(FinishReasonName(*answer.best().reason), "stop");
  EXPECT_EQ(answer.best().score, 2);
  EXPECT_EQ(answer.best().text, "aaaaa");
  EXPECT_EQ(answer.end->answer, std::vector<int32_t>{1});
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 2);
  EXPECT_EQ(answer.cached_from.memory, 1) << "not what a sequence found that was resumed";
  EXPECT_EQ(answer.cached_from.disk, 1);
  EXPECT_EQ(answer.output_tokens, 3);
  EXPECT_EQ(*answer.admitted_seconds, 11);
  EXPECT_EQ(answer.last_token_seconds, 16);
  EXPECT_EQ(answer.prefill_seconds(), 2);
  EXPECT_EQ(answer.decode_seconds(), 6);
}

// What the server makes of a stream: figures, and nothing that grows with the text.
TEST(Transcript, KeepsNoMoreThanItIsTold) {
  const Transcript answer = Fold({.text = false, .tokens = false, .logprobs = false});
  for (const TranscriptSequence& sequence : answer.sequences) {
    EXPECT_TRUE(sequence.text.empty() && sequence.tokens.empty() && sequence.logprobs.empty() &&
                sequence.top.empty() && sequence.seconds.empty() && sequence.draws.empty());
    EXPECT_TRUE(sequence.reason);
  }
  EXPECT_EQ(answer.output_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 2);
}

TEST(Transcript, CanBeReadBeforeTheEnd) {
  Transcript answer(OfStory());
  EXPECT_EQ(answer.best().tokens.size(), 0u);
  EXPECT_FALSE(answer.end || answer.first_token_seconds || answer.best().reason);
  const std::vector<Event> story = Story();
  for (size_t i = 0; i < 2; ++i) answer.Add(story[i]);
  EXPECT_EQ(answer.prefill_seconds(), 1);  // so far
  EXPECT_EQ(answer.decode_seconds(), 0);
}

TEST(Transcript, HasTheVectorOfAnEmbeddingAndTheStatusOfAnError) {
  Transcript answer(Request{.prompt = {1}});
  answer.Add(Event{.what = EmbeddingEvent{.values = {0.5f, 0.25f}}});
  EXPECT_EQ(answer.embedding, (std::vector<float>{0.5f, 0.25f}));
  answer.Add(Event{.what = FinishedEvent{.reason = FinishReason::kError,
                                         .status = Status(ErrorCode::kNumeric, "no number"),
                                         .answer = {0}}});
  EXPECT_EQ(answer.end->status.message(), "no number");
  EXPECT_EQ(answer.sequences[0].stop_index, -1);
  answer.Add({.event = {.what = SequenceFinishedEvent{}}, .text = {}, .stop_index = 2});
  EXPECT_EQ(answer.sequences[0].stop_index, 2);
}

TEST(Events, HaveNames) {
  std::string names;
  for (const Event& event : Story()) names += std::string(EventName(event)) + "; ";
  EXPECT_EQ(names,
            "queued; admitted; token; token; preempted; resumed; sequence finished; token; "
            "sequence finished; finished; ");
  EXPECT_EQ(EventName({.what = ChunkEvent{}}), "chunk");
  EXPECT_EQ(EventName({.what = EmbeddingEvent{}}), "embedding");
}

}  // namespace
}  // namespace skald
