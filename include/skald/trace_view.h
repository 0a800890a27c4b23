/// Views of a record (skald/trace.h): a drawing for Perfetto, one of the schedule, and a line for
/// each request.
///
/// All read a record once, event by event, so that its size does not matter; what they keep is
/// bounded by the requests that are open at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"
#include "skald/trace.h"
#include "skald/version.h"

namespace skald {

/// Requests that may be open in a record, and sequences: more are a mistake, or an attack.
inline constexpr int64_t kMostOpenInTrace = int64_t{1} << 16;

/// Makes of a record a document in Chrome's trace event format, which Perfetto and speedscope open:
/// a track for steps and their phases, one for each sequence, counters for pages and sequences, one
/// for benchmarks, arrows from where a prefix was computed to whom it served. Slices are pairs of
/// begin and end, times never go back but for the begins of arrows, and what is open at the end is
/// ended.
class PerfettoTrace {
 public:
  explicit PerfettoTrace(const TraceHeader& header);
  ~PerfettoTrace();

  /// Takes the next event. Errors: kInvalidArgument: more are open than kMostOpenInTrace.
  Status Add(const TraceRecord& record);
  /// What stands in the document since the last call.
  std::string TakePart();
  /// Its end.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Sequences and steps that a ScheduleFigure draws: more nobody can see on one page.
inline constexpr int64_t kMostDrawnSequences = 256;
inline constexpr int64_t kMostDrawnSteps = 1024;

/// Draws which sequence computed what in which step, as one SVG document: a track for each sequence
/// (rows of its prompt, tokens of its answer, where it waited or had lost its pages), and the rows
/// of each step. By steps, not by time, so that the drawing does not depend on the machine. Memory
/// is bounded by what is drawn; what is not is counted.
class ScheduleFigure {
 public:
  /// `command` stands below the drawing.
  explicit ScheduleFigure(std::string command);
  ~ScheduleFigure();

  void Add(const TraceRecord& record);
  /// The document.
  std::string Finish() const;

 private:
  struct State;
  std::string command_;
  std::unique_ptr<State> state_;
};

/// How a request went, as its record tells.
struct RequestSummary {
  uint64_t request = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;    ///< of these, found in the cache
  int64_t computed_tokens = 0;  ///< rows of prompts: of what was preempted, those again
  int64_t output_tokens = 0;
  int64_t preemptions = 0;
  double queue_seconds = kTraceUnknown;     ///< until it was admitted
  double ttft_seconds = kTraceUnknown;      ///< until its first token
  double mean_tbt_seconds = kTraceUnknown;  ///< between two tokens of a sequence
  double max_tbt_seconds = kTraceUnknown;
  double seconds = kTraceUnknown;    ///< until its end
  std::optional<TraceEnd> end = {};  ///< none: it goes on behind the record
};

/// How all of them went.
struct RunSummary {
  std::vector<RequestSummary> requests = {};  ///< the first kMostSummaries, by number
  int64_t request_count = 0;
  int64_t output_tokens = 0;
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t prompt_rows = 0;
  int64_t preemptions = 0;
  int64_t guesses = 0;
  int64_t kept_guesses = 0;
  int64_t lost_events = 0;
  double step_seconds = 0;  ///< of all steps together
  double seconds = 0;       ///< time of the last event
};

/// Requests that a summary lists.
inline constexpr size_t kMostSummaries = 10'000;

/// Sums a record up.
class TraceSummary {
 public:
  TraceSummary();
  ~TraceSummary();

  /// Takes the next event. Errors: as PerfettoTrace::Add.
  Status Add(const TraceRecord& record);
  /// Of all events so far.
  RunSummary Summary() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "stop", "length", "context", "cancelled", "deadline", "error".
std::string_view TraceEndName(TraceEnd end);

}  // namespace skald
