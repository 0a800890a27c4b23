/// CompletionSink: gathers the events of one request into a Completion while its caller waits.
#pragma once

#include <condition_variable>
#include <mutex>

#include "skald/engine.h"
#include "skald/transcript.h"

namespace skald::engine {

/// Push is for the engine thread, Wait for one other.
class CompletionSink : public EventSink {
 public:
  /// `on_token` must live until Wait returns.
  CompletionSink(const Request& request, const Engine::OnToken& on_token);

  Listening Push(const Event& event) override;
  /// It keeps what it is given: there is always room.
  bool HasRoom(int64_t) const override { return true; }

  /// Waits for the end. Errors: what the request ended with.
  Result<Completion> Wait();

 private:
  const Engine::OnToken& on_token_;
  Transcript transcript_;  // of the engine thread until it has ended

  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};

}  // namespace skald::engine
