/// `skald chat`: a conversation with a model, in its own chat template.
#pragma once

#include <cstdint>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/constraint_args.h"
#include "cli/options.h"
#include "cli/speculation_args.h"
#include "cli/trace_file.h"
#include "skald/status.h"

namespace skald::cli {

/// What the model is told about thinking aloud before it answers.
enum class Thinking : uint8_t { kAsModel, kOn, kOff };

/// Where lines of an answer end on a terminal: between words, or where the terminal breaks them.
enum class Wrap : uint8_t { kWords, kNone };

/// What can be changed in the course of a conversation, by /set.
struct ChatSettings {
  SamplingArgs sampling;
  StopArgs stop;
  Thinking thinking = Thinking::kAsModel;
};

/// What `skald chat` was asked to do.
struct ChatOptions {
  ModelArgs model;
  std::string system;
  ChatSettings settings;
  EngineArgs engine;
  SpeculationArgs speculation;
  ConstraintArgs constraint;  ///< of each answer
  TraceArgs trace;
  OutputArgs output;  ///< --json: one object a turn
  Wrap wrap = Wrap::kWords;
};

/// Adds the verb; parsing it sets `chosen`.
void AddChatCommand(CLI::App& root, Action& chosen);

/// Changes one setting by the name of its flag ("temp", "top-k", "n", "think") or with underscores.
/// Errors: kInvalidArgument for an unknown name, with the nearest known one, and for a bad value.
Status ChangeSetting(const std::string& name, const std::string& value, ChatSettings* settings);

/// Loads the model and talks until /bye, Ctrl-D or the end of a pipe. Errors: those of lookup,
/// loading, the template and Engine::Create; kIo and kCancelled of Console::Write. What goes wrong
/// in one turn is said and ends the turn only, unless lines come from a pipe.
Status Chat(const ChatOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
