/// `skald run`: text from a prompt, streamed to stdout.
#pragma once

#include <cstdint>

#include "cli/action.h"
#include "cli/beam_args.h"
#include "cli/cli11_forward.h"
#include "cli/constraint_args.h"
#include "cli/options.h"
#include "cli/receipt_args.h"
#include "cli/run_words.h"
#include "cli/speculation_args.h"
#include "cli/trace_file.h"
#include "skald/status.h"

namespace skald::cli {

/// Whether the prompt is printed before what the model adds to it.
enum class Echo : uint8_t { kPrompt, kNone };

/// What `skald run` was asked to do.
struct RunOptions {
  RunWords words;
  ModelArgs model;
  TextArgs prompt;
  StopArgs stop;
  SamplingArgs sampling;
  EngineArgs engine;
  SpeculationArgs speculation;
  BeamArgs beams;
  ConstraintArgs constraint;
  ReceiptArgs receipt;
  TraceArgs trace;
  OutputArgs output;
  Echo echo = Echo::kPrompt;
};

/// Adds the verb; parsing it sets `chosen`.
void AddRunCommand(CLI::App& root, Action& chosen);

/// Loads the model, generates, prints. Errors: those of lookup, loading and Engine::Generate; kIo
/// and kCancelled of Console::Write; kCancelled after Ctrl-C, when everything has been printed.
Status Run(const RunOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
