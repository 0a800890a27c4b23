#include "cli/app.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <span>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "cli/bench_command.h"
#include "cli/cache_command.h"
#include "cli/chat_command.h"
#include "cli/completion.h"
#include "cli/console.h"
#include "cli/du_command.h"
#include "cli/embed_command.h"
#include "cli/environment.h"
#include "cli/explain_command.h"
#include "cli/foreign_flags.h"
#include "cli/grammar_command.h"
#include "cli/interrupt.h"
#include "cli/lab_command.h"
#include "cli/logits_command.h"
#include "cli/ls_command.h"
#include "cli/model_lookup.h"
#include "cli/plan_command.h"
#include "cli/proof_command.h"
#include "cli/pull_command.h"
#include "cli/quantize_command.h"
#include "cli/rank_command.h"
#include "cli/rank_processes.h"
#include "cli/rm_command.h"
#include "cli/run_command.h"
#include "cli/serve_command.h"
#include "cli/show_command.h"
#include "cli/suggest.h"
#include "cli/tokenize_command.h"
#include "cli/trace_command.h"
#include "cli/verify_command.h"
#include "skald/engine.h"
#include "skald/version.h"

namespace skald::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  skald run                                    a tale from the bundled model
  skald run model.gguf "Once upon a time"      continue a prompt
  skald chat model.gguf                        talk with a model
  skald ls                                     models that -m finds by name
  skald run --help                             all flags of a verb

Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 differs, 2 usage, 3 not found,
4 input or output, 5 bad model, 6 unsupported, 7 does not fit, 8 cancelled, 9 numeric, 130 Ctrl-C,
141 closed pipe.
)";

// Width of the column of flag names in the help: the longest is "  --frequency-penalty X".
constexpr size_t kHelpColumn = 34;

Action PrintAction(std::string text) {
  return [text = std::move(text)](const Environment&, Console& console) {
    return console.Write(text);
  };
}

// The verb that was parsed, or the program itself.
const CLI::App& ParsedVerb(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

Status UsageError(const CLI::App& app, const std::string& problem) {
  const CLI::App& verb = ParsedVerb(app);
  const std::string name = &verb == &app ? "skald" : "skald " + verb.get_name();
  return Status(ErrorCode::kInvalidArgument, fmt::format("{} (see {} --help)", problem, name));
}

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands(std::function<bool(const CLI::App*)>()))
    names.push_back(verb->get_name());
  return names;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest);
}

std::string UnexpectedArgument(const std::string& argument) {
  return fmt::format("unexpected argument '{}'; a text with spaces needs quotes", argument);
}

// What stands where a verb is expected.
Status NoSuchVerb(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> verbs = VerbNames(app);
  const std::string all = fmt::format("there are {}", fmt::join(verbs, ", "));
  if (word.empty()) return UsageError(app, "no verb; " + all);
  if (word.starts_with('-'))
    return UsageError(app, fmt::format("no verb before '{0}'; type skald run {0} ..., skald chat "
                                       "{0} ... or skald serve {0} ...",
                                       word));
  for (const ForeignVerb& verb : ForeignVerbs())
    if (verb.name == word)
      return UsageError(app, fmt::format("there is no verb '{}': {}", word, verb.here));
  if (LooksLikeModel(word))
    return UsageError(app, fmt::format("no verb before '{0}'; type skald run {0} PROMPT, skald "
                                       "chat {0} or skald serve {0}",
                                       word));
  const std::string hint = DidYouMean(word, verbs);
  return UsageError(app,
                    fmt::format("unknown verb '{}'{}", word, hint.empty() ? "; " + all : hint));
}

// CLI11's "--n-predict: 1 required N missing" and "json was given a disallowed flag override".
std::string WrongValueCount(const std::string& message) {
  std::string flag = message.substr(0, message.find_first_of(": "));
  if (!flag.starts_with('-')) flag.insert(0, "--");
  const bool missing = message.find("missing") != std::string::npos;
  return fmt::format("{} {}", flag, missing ? "needs a value" : "takes no value");
}

// CLI11 takes "--flag=" for a flag whose value comes next; it means an empty value.
std::vector<std::string> SplitEmptyValues(const std::vector<std::string>& arguments) {
  std::vector<std::string> split;
  bool only_texts = false;
  for (const std::string& argument : arguments) {
    only_texts = only_texts || argument == "--";
    const bool is_empty_value = !only_texts && argument.starts_with("--") &&
                                argument.find('=') == argument.size() - 1 && argument.size() > 3;
    if (is_empty_value) {
      split.push_back(argument.substr(0, argument.size() - 1));
      split.emplace_back();
    } else {
      split.push_back(argument);
    }
  }
  return split;
}

std::string CompilerName() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

// What went wrong, on stderr, unless the user caused it knowingly.
ExitCode Report(const Status& status, Console& console) {
  if (status.ok()) return console.has_mismatch() ? ExitCode::kMismatch : ExitCode::kOk;
  // Two things cancel: Ctrl-C, and a reader of the output that has gone (WriteAll).
  if (status.code() == ErrorCode::kCancelled)
    return InterruptScope::Requested() ? ExitCode::kInterrupted : ExitCode::kPipeClosed;
  console.Error(status.message());
  return ExitCodeOf(status.code());
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(Action& chosen) {
  auto app = std::make_unique<CLI::App>("skald: runs language models on the CPU", "skald");
  app->footer(kFooter);
  app->get_formatter()->column_width(kHelpColumn);
  app->set_help_flag("-h,--help", "show this help");
  app->add_flag_callback(
         "--version", [&chosen] { chosen = PrintAction(VersionText()); }, "show versions")
      ->disable_flag_override();
  app->require_subcommand(0, 1);
  AddRunCommand(*app, chosen);
  AddChatCommand(*app, chosen);
  AddServeCommand(*app, chosen);
  AddTokenizeCommand(*app, chosen);
  AddEmbedCommand(*app, chosen);
  AddLogitsCommand(*app, chosen);
  AddShowCommand(*app, chosen);
  AddPlanCommand(*app, chosen);
  AddProofCommand(*app, chosen);
  AddExplainCommand(*app, chosen);
  AddLabCommand(*app, chosen);
  AddVerifyCommand(*app, chosen);
  AddQuantizeCommand(*app, chosen);
  AddGrammarCommand(*app, chosen);
  AddPullCommand(*app, chosen);
  AddLsCommand(*app, chosen);
  AddRmCommand(*app, chosen);
  AddDuCommand(*app, chosen);
  AddCacheCommand(*app, chosen);
  AddBenchCommand(*app, chosen);
  AddTraceCommand(*app, chosen);
  AddRankCommand(*app, chosen);
  AddCompletionCommand(*app, chosen);
  return app;
}

Result<Action> ParseCommandLine(CLI::App& app, Action& chosen, std::vector<std::string> arguments) {
  const std::string first = arguments.empty() ? std::string() : arguments.front();
  const std::vector<std::string> verbs = VerbNames(app);
  const bool has_verb = std::find(verbs.begin(), verbs.end(), first) != verbs.end();
  if (!has_verb && first != "-h" && first != "--help" && first != "--version")
    return NoSuchVerb(app, first);
  const CLI::App& verb = has_verb ? *app.get_subcommand(first) : app;
  ASSIGN_OR_RETURN(ResolvedLine line, ResolveFlags(verb, std::span(arguments).subspan(has_verb)));
  arguments = std::move(line.arguments);
  if (has_verb) arguments.insert(arguments.begin(), first);
  arguments = SplitEmptyValues(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  // The only place that catches: CLI11 reports by exceptions, help included.
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return PrintAction(app.help());
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining(true);
    return UsageError(app, UnexpectedArgument(extras.empty() ? std::string() : extras.front()));
  } catch (const CLI::ArgumentMismatch& error) {
    return UsageError(app, WrongValueCount(error.what()));
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error.what());
  }
  if (!chosen) return NoSuchVerb(app, "");
  if (line.notes.empty()) return chosen;
  return Action([notes = std::move(line.notes), action = chosen](const Environment& environment,
                                                                 Console& console) {
    console.NoteWhenConfigured(notes);
    return action(environment, console);
  });
}

std::string VersionText() {
  return fmt::format("skald {}\nnumerics {}\ncompiler {}\n", kVersion, kNumericsVersion,
                     CompilerName());
}

ExitCode Main(const std::vector<std::string>& arguments) {
  ReserveStandardDescriptors();
  // A closed pipe and a file at the user's size limit are then errors of write (EPIPE, EFBIG),
  // which end the run in order.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  UseUtf8Locale();
  const Environment environment = ReadEnvironment();
  Console console(environment.terminals, environment.color);
  // Nothing of skald throws; the standard library does when memory runs out.
  try {
    if (const auto worker = ParseRankWorker(arguments)) return RunRankWorker(*worker);
    Action chosen;
    const std::unique_ptr<CLI::App> app = MakeApp(chosen);
    const Result<Action> action = ParseCommandLine(*app, chosen, arguments);
    if (!action.ok()) return Report(action.status(), console);
    return Report((*action)(environment, console), console);
  } catch (const std::bad_alloc&) {
    console.Error("out of memory");
    return ExitCode::kResourceExhausted;
  } catch (const std::system_error& error) {
    // Threads are what is started; nothing else of the library's throws this.
    console.Error(fmt::format("cannot start a thread: {} (ulimit -u, TasksMax)", error.what()));
    return ExitCode::kResourceExhausted;
  } catch (const std::exception& error) {
    console.Error(fmt::format("unexpected: {}", error.what()));
    return ExitCode::kUnexpected;
  }
}

}  // namespace skald::cli
