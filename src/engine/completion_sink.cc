#include "engine/completion_sink.h"

#include <utility>

namespace skald::engine {
namespace {

Completion CompletionOf(Transcript transcript) {
  const FinishedEvent& end = *transcript.end;
  const auto take = [&](int32_t index) {
    TranscriptSequence& sequence = transcript.sequences[static_cast<size_t>(index)];
    return Alternative{
        .tokens = std::move(sequence.tokens), .reason = *sequence.reason, .score = sequence.score};
  };
  Alternative first = take(end.answer.front());
  // Whoever cut the request off: a sequence may have been over before.
  const bool cut = end.reason == FinishReason::kCancelled || end.reason == FinishReason::kDeadline;
  Completion done = {.tokens = std::move(first.tokens),
                     .reason = cut ? end.reason : first.reason,
                     .score = first.score,
                     .prompt_tokens = transcript.prompt_tokens,
                     .cached_tokens = transcript.cached_tokens,
                     .cached_from = transcript.cached_from,
                     .prefill_seconds = transcript.prefill_seconds(),
                     .decode_seconds = transcript.decode_seconds(),
                     .others = {},
                     .prompt_logprobs = std::move(transcript.prompt_logprobs)};
  for (size_t i = 1; i < end.answer.size(); ++i) done.others.push_back(take(end.answer[i]));
  return done;
}

}  // namespace

CompletionSink::CompletionSink(const Request& request, const Engine::OnToken& on_token)
    : on_token_(on_token), transcript_(request, {.text = false, .logprobs = false}) {}

Listening CompletionSink::Push(const Event& event) {
  transcript_.Add(event);
  if (const auto* prompt = event.As<PromptLogprobsEvent>())
    transcript_.prompt_logprobs = prompt->logprobs;
  if (transcript_.end) {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    finished_.notify_one();
    return Listening::kGoOn;
  }
  bool goes_on = true;
  if (const auto* token = event.As<TokenEvent>()) {
    goes_on = event.sequence > 0 || on_token_(*token);
  } else if (event.Is<ChunkEvent>() && transcript_.output_tokens == 0) {
    goes_on = on_token_({});
  }
  return goes_on ? Listening::kGoOn : Listening::kGone;
}

Result<Completion> CompletionSink::Wait() {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return is_finished_; });
  }
  if (!transcript_.end->status.ok()) return transcript_.end->status;
  return CompletionOf(std::move(transcript_));
}

}  // namespace skald::engine
