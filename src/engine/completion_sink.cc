#include "engine/completion_sink.h"

#include <utility>

namespace skald::engine {

CompletionSink::CompletionSink(const Request& request, const Engine::OnToken& on_token)
    : on_token_(on_token), texts_(static_cast<size_t>(request.sequence_count())) {
  done_.prompt_tokens = static_cast<int64_t>(request.prompt.size());
}

Listening CompletionSink::TakeToken(const Event& event) {
  texts_[static_cast<size_t>(event.sequence)].tokens.push_back(event.token.token);
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
      texts_[static_cast<size_t>(event.sequence)].reason = event.reason;
      texts_[static_cast<size_t>(event.sequence)].score = event.score;
      break;
    case EventKind::kFinished: {
      const double seconds = event.seconds - submitted_seconds_;
      if (!has_token_) done_.prefill_seconds = seconds;
      done_.decode_seconds = seconds - done_.prefill_seconds;
      done_.reason = event.reason;
      answer_ = event.answer;
      const std::lock_guard lock(mutex_);
      status_ = event.status;
      is_finished_ = true;
      finished_.notify_one();
      break;
    }
  }
  return listening;
}

Completion CompletionSink::Answer() {
  const bool cut = done_.reason == FinishReason::kCancelled ||
                   done_.reason == FinishReason::kDeadline || texts_.size() == 1;
  Alternative& first = texts_[static_cast<size_t>(answer_.front())];
  done_.tokens = std::move(first.tokens);
  done_.score = first.score;
  if (!cut) done_.reason = first.reason;
  for (size_t i = 1; i < answer_.size(); ++i) {
    done_.others.push_back(std::move(texts_[static_cast<size_t>(answer_[i])]));
  }
  return std::move(done_);
}

Result<Completion> CompletionSink::Wait() {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return is_finished_; });
  }
  if (!status_.ok()) return status_;
  return Answer();
}

}  // namespace skald::engine
