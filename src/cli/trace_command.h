/// `skald trace`: what can be made of the record of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"
#include "skald/trace.h"
#include "skald/trace_view.h"

namespace skald::cli {

enum class TraceAction : uint8_t { kConvert, kSummary };
enum class TraceForm : uint8_t { kNone, kPerfetto, kSvg };

/// What `skald trace` was asked to do.
struct TraceCommandOptions {
  TraceAction action = TraceAction::kSummary;
  TraceForm form = TraceForm::kNone;
  std::optional<std::string> in;
  std::optional<std::string> out;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddTraceCommand(CLI::App& root, Action& chosen);

/// Reads a record and writes it in another form, or prints a summary. Errors: kInvalidArgument for
/// arguments that do not belong together and for a line that is none of a record, with its number;
/// kNotFound, kIo.
Status TraceVerb(const TraceCommandOptions& options, const Environment& environment,
                 Console& console);

/// Longest line of a record that is read: eight times what sixteen tokens can need.
inline constexpr size_t kTraceLineMax = size_t{1} << 20;

/// Reads the record in the file `path`, a block at a time. What this version does not know is left
/// out, and so is a last line that is cut. Errors: as TraceVerb; those of `on_header`, `on_record`.
Status ReadTrace(const std::string& path,
                 const std::function<Status(const TraceHeader&)>& on_header,
                 const std::function<Status(const TraceRecord&)>& on_record);

/// The summary as people read it, and as JSON.
std::string SummaryText(const TraceHeader& header, const RunSummary& run);
std::string SummaryJson(const TraceHeader& header, const RunSummary& run);

}  // namespace skald::cli
