/// Recorded conversations for `skald bench --traffic`: what clients sent to /v1/chat/completions,
/// a request a line.
#pragma once

#include <string_view>
#include <vector>

#include "cli/traffic_workload.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

struct ChatTrace {
  std::vector<TrafficRequest> requests = {};  ///< by arrival
  bool has_times = false;                     ///< else one comes when the one before has its answer
};

/// Whether the first line of a recording has messages, so that it is one of conversations.
bool IsChatTrace(std::string_view text);

/// Lines of JSON with `messages`, and, if they were sent, `tools`, `chat_template_kwargs` and
/// `max_tokens` or `max_completion_tokens` (shape.output_len where neither is); `timestamp` (ms) in
/// every line or in none. All else of a line is not looked at. Prompts are made by the template of
/// the model; parts of a content are joined, and arguments of calls are taken as the JSON that
/// their text is. Of `shape` num_prompts and, for times, trace_scale count. Errors, with the line:
/// kInvalidArgument, also for a prompt that with its answer is longer than the model's context; of
/// the template. Errors: kUnsupported for a model without one.
Result<ChatTrace> ParseChatTrace(std::string_view text, const TrafficShape& shape,
                                 const Model& model);

}  // namespace skald::cli
