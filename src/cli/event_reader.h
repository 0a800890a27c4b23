/// EventReader: the events of a request, for a person who waits for its text.
///
/// How much of a prompt is read stands on the terminal's line while nothing else is to be seen, and
/// Ctrl-C cancels the request at once, not with its next event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/stopwatch.h"
#include "cli/console.h"
#include "skald/engine.h"
#include "skald/request.h"
#include "skald/text_sink.h"

namespace skald::cli {

/// See above. Lives within an InterruptScope, for one request.
class EventReader {
 public:
  EventReader(Engine& engine, Console& console);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// For TextOptions::on_ready of the sink.
  std::function<void()> on_ready() const;

  /// Submits the request. Errors: as Engine::Submit.
  Status Submit(const Request& request, std::shared_ptr<TextSink> sink);

  /// The next event; waits for one. The terminal's line is empty whenever it brings text or an end.
  TextEvent Next();

  /// Ends the request, as Ctrl-C does.
  void Cancel();

  /// Whether a progress line may be shown, so that what is written before the first text must end
  /// its line.
  static bool ShowsProgress(const Console& console);

 private:
  class Bell;

  void Wait();
  void Notice(const Event& event);
  template <typename Part>
  void Advance(const Part& part);
  void Draw();
  void Erase();

  Engine& engine_;
  Console& console_;
  std::shared_ptr<Bell> bell_;
  std::shared_ptr<TextSink> sink_;
  std::optional<RequestId> id_;
  Stopwatch watch_;
  bool reading_ = true;  // the prompt
  bool cancelled_ = false;
  bool drawn_ = false;
  int64_t done_ = 0;  // tokens of the prompt
  int64_t total_ = 0;
};

}  // namespace skald::cli
