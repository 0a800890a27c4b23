#include "skald/text_sink.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "engine/bounded_queue.h"

namespace skald {
namespace {

// One sequence on its way from tokens to text. For the engine thread.
class TextOfSequence {
 public:
  TextOfSequence(StreamDecoder decoder, StopMatcher matcher)
      : decoder_(std::move(decoder)), matcher_(std::move(matcher)) {}

  /// The text that `token` makes certain.
  std::string Push(TokenId token) { return Match(decoder_.Push(token)); }
  /// As Push, but for stop strings, which are not looked for.
  std::string PushUnsearched(TokenId token) { return decoder_.Push(token); }

  /// What was held back, now that no more tokens come. Empty after a stop string.
  std::string Finish() {
    std::string text = Match(decoder_.Flush());
    if (stop_index_ < 0) text += matcher_.Flush();
    return text;
  }

  int stop_index() const { return stop_index_; }

 private:
  std::string Match(const std::string& piece) {
    StopMatcher::Output output = matcher_.Push(piece);
    stop_index_ = output.stop_index;
    return std::move(output.text);
  }

  StreamDecoder decoder_;
  StopMatcher matcher_;
  int stop_index_ = -1;
};

}  // namespace

struct TextSink::State {
  State(int64_t searched_from, int64_t capacity, std::function<void()> when_ready)
      : min_tokens(searched_from), on_ready(std::move(when_ready)), queue(capacity) {}

  // The text that comes with an event.
  std::string TextOf(const Event& event) {
    TextOfSequence& text = texts[static_cast<size_t>(event.sequence)];
    if (const auto* next = event.As<TokenEvent>())
      return next->index < min_tokens ? text.PushUnsearched(next->token) : text.Push(next->token);
    return event.Is<SequenceFinishedEvent>() ? text.Finish() : std::string();
  }

  const int64_t min_tokens;
  const std::function<void()> on_ready;
  std::vector<TextOfSequence> texts;  // by sequence; of the engine thread
  engine::BoundedQueue<TextEvent> queue;
};

TextSink::TextSink(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextSink::~TextSink() = default;

Result<std::shared_ptr<TextSink>> TextSink::Create(const Tokenizer& tokenizer,
                                                   const Request& request, TextOptions options) {
  auto state = std::make_unique<State>(request.stop.min_tokens,
                                       std::max(request.least_room(), options.capacity),
                                       std::move(options.on_ready));
  for (int32_t i = 0; i < request.sequence_count(); ++i) {
    ASSIGN_OR_RETURN(StopMatcher matcher, StopMatcher::Create(options.stop_strings));
    state->texts.emplace_back(StreamDecoder(tokenizer, options.decode), std::move(matcher));
  }
  return std::make_shared<TextSink>(std::move(state));
}

Listening TextSink::Push(const Event& event) {
  const std::string text = state_->TextOf(event);
  const int stop_index = state_->texts[static_cast<size_t>(event.sequence)].stop_index();
  const auto pushed = state_->queue.Push([&](TextEvent* slot) {
    slot->event = event;
    slot->text = text;
    slot->stop_index = event.Is<SequenceFinishedEvent>() ? stop_index : -1;
  });
  if (pushed == engine::Pushed::kClosed) return Listening::kGone;
  if (pushed == engine::Pushed::kFirst && state_->on_ready) state_->on_ready();
  return stop_index >= 0 ? Listening::kEndSequence : Listening::kGoOn;
}

bool TextSink::HasRoom(int64_t events) const { return state_->queue.HasRoom(events); }
TextEvent TextSink::Next() { return state_->queue.Next(); }
std::optional<TextEvent> TextSink::TryNext() { return state_->queue.TryNext(); }
void TextSink::Close() { state_->queue.Close(); }

}  // namespace skald
