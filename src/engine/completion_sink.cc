#include "engine/completion_sink.h"

#include <algorithm>
#include <utility>

namespace skald::engine {

CompletionSink::CompletionSink(const Request& request, const Engine::OnToken& on_token)
    : on_token_(on_token),
      wanted_(request.n),
      ranked_(request.sequence_count() > request.n),
      texts_(static_cast<size_t>(request.sequence_count())) {
  done_.prompt_tokens = static_cast<int64_t>(request.prompt.size());
}

Listening CompletionSink::TakeToken(const Event& event) {
  Text& text = texts_[static_cast<size_t>(event.sequence)];
  text.alternative.tokens.push_back(event.token.token);
  text.logprob_sum += event.token.logprob.value_or(0);
  if (!has_token_) done_.prefill_seconds = event.seconds - submitted_seconds_;
  has_token_ = true;
  return event.sequence > 0 || on_token_(event.token) ? Listening::kGoOn : Listening::kGone;
}

Listening CompletionSink::Push(const Event& event) {
  Listening listening = Listening::kGoOn;
  switch (event.kind) {
    case EventKind::kQueued: submitted_seconds_ = event.seconds; break;
    case EventKind::kAdmitted: done_.cached_tokens = event.done; break;
    case EventKind::kChunk:
      if (!has_token_ && !on_token_({})) listening = Listening::kGone;
      break;
    case EventKind::kToken: listening = TakeToken(event); break;
    case EventKind::kEmbedding:
    case EventKind::kPreempted:
    case EventKind::kResumed: break;
    case EventKind::kSequenceFinished:
      texts_[static_cast<size_t>(event.sequence)].alternative.reason = event.reason;
      texts_[static_cast<size_t>(event.sequence)].alternative.score = event.score;
      break;
    case EventKind::kFinished: {
      const double seconds = event.seconds - submitted_seconds_;
      if (!has_token_) done_.prefill_seconds = seconds;
      done_.decode_seconds = seconds - done_.prefill_seconds;
      done_.reason = event.reason;
      const std::lock_guard lock(mutex_);
      status_ = event.status;
      is_finished_ = true;
      finished_.notify_one();
      break;
    }
  }
  return listening;
}

// The sequences wanted: the best first, or in their order.
Completion CompletionSink::Best() {
  const auto mean = [](const Text& text) {
    return text.logprob_sum /
           static_cast<double>(std::max<size_t>(1, text.alternative.tokens.size()));
  };
  if (ranked_) {
    std::stable_sort(texts_.begin(), texts_.end(),
                     [&](const Text& a, const Text& b) { return mean(a) > mean(b); });
  }
  const bool cut = done_.reason == FinishReason::kCancelled ||
                   done_.reason == FinishReason::kDeadline || texts_.size() == 1;
  done_.tokens = std::move(texts_.front().alternative.tokens);
  done_.score = texts_.front().alternative.score;
  if (!cut) done_.reason = texts_.front().alternative.reason;
  for (size_t i = 1; i < static_cast<size_t>(wanted_); ++i) {
    done_.others.push_back(std::move(texts_[i].alternative));
  }
  return std::move(done_);
}

Result<Completion> CompletionSink::Wait() {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return is_finished_; });
  }
  if (!status_.ok()) return status_;
  return Best();
}

}  // namespace skald::engine
