/// TextSink: stands between an engine and a reader who wants text, and ends each sequence at its
/// stop strings.
///
///     Result<std::shared_ptr<TextSink>> sink =
///         TextSink::Create(model.tokenizer(), request, {.stop_strings = {"\n\n"}});
///     Result<RequestId> id = engine.Submit(std::move(request), *sink);
///     for (TextEvent next = (*sink)->Next(); !next.event.Is<FinishedEvent>();
///          next = (*sink)->Next()) {
///       std::cout << next.text;
///     }
///
/// Tokens become whole characters (StreamDecoder) with nothing of a stop string among them
/// (StopMatcher). Text that may yet turn out to begin a stop string or an incomplete character is
/// held back: it comes with a later token, or with the end of its sequence. The token that
/// completes a stop string is the last that is computed for its sequence: FinishReason::kStop.
///
/// A reader either waits (Next), or is told that there is something to read (on_ready) and takes
/// what there is (TryNext): a program at a terminal the one, an I/O loop the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/request.h"
#include "skald/status.h"
#include "skald/tokenizer.h"
#include "skald/version.h"

namespace skald {

/// How tokens become text, and how the reader hears of it.
struct TextOptions {
  /// A sequence ends where the first of these is complete in its text, which does not show it.
  std::vector<std::string> stop_strings = {};
  /// A prompt stands before the text, unless it is empty.
  DecodeOptions decode = {.from = DecodeFrom::kContinuation};
  /// Events that may wait for the reader; a full queue pauses the request (EventSink::HasRoom).
  /// Raised to what the request needs at least.
  int64_t capacity = 256;
  /// Called when the queue is no longer empty, on the engine thread: it must return at once, and
  /// call neither engine nor sink. Who is called reads with TryNext until there is nothing.
  std::function<void()> on_ready = nullptr;
};

/// An event of the engine, with the text it brings.
struct TextEvent {
  Event event;
  /// Of event.sequence. With a token: what it makes certain, perhaps nothing, perhaps text of
  /// earlier tokens. With the end of the sequence: what was held back. Else empty.
  std::string text;
  /// With the end of a sequence: the index of the stop string that ended the text, or -1.
  int32_t stop_index = -1;
};

/// For one request, one engine and one reader. Thread-safe.
class TextSink : public EventSink {
 public:
  /// For Engine::Submit of this `request`, of which the number of sequences and min_tokens count:
  /// the text of the first min_tokens tokens is shown and not searched for stop strings. The
  /// tokenizer must outlive the sink. Errors: as StopMatcher::Create.
  static Result<std::shared_ptr<TextSink>> Create(const Tokenizer& tokenizer,
                                                  const Request& request, TextOptions options);
  /// For Create.
  struct State;
  explicit TextSink(std::unique_ptr<State> state);
  ~TextSink() override;

  Listening Push(const Event& event) override;
  bool HasRoom(int64_t events) const override;

  /// The oldest event; waits for one. Not to be called again after FinishedEvent.
  TextEvent Next();
  /// The oldest event, if there is one.
  std::optional<TextEvent> TryNext();
  /// Nobody will read any more: the request is cancelled at its next event.
  void Close();

 private:
  std::unique_ptr<State> state_;
};

}  // namespace skald
