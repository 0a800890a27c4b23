#include "cli/chat_command.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "cli/chat_session.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/line_editor.h"
#include "cli/loading.h"
#include "skald/model.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald chat                                        with the bundled model
  skald chat model.gguf --system "Be brief."
  printf 'Hi\nAnd you?\n' | skald chat -m model.gguf -q

In the conversation: /help lists commands, """ opens and closes a text of several lines, Ctrl-C
stops an answer, Ctrl-D leaves.
)";

constexpr std::array<Choice<Thinking>, 3> kThinking = {
    {{"auto", Thinking::kAsModel}, {"on", Thinking::kOn}, {"off", Thinking::kOff}}};

void AddSettings(CLI::App& app, ChatSettings& settings) {
  AddStopArgs(app, settings.stop);
  AddChoice(app, {"--think", "whether the model thinks aloud first, if it can (default auto)"},
            settings.thinking, kThinking);
  AddSamplingArgs(app, settings.sampling);
}

}  // namespace

void AddChatCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"chat", "Talk with a model", kExamples});
  const auto options = std::make_shared<ChatOptions>();
  AddModelArgs(verb, options->model);
  AddModelWord(verb, options->model);
  AddValue(verb, {"--system", "what the model is told before the conversation"}, kTextType,
           [options](const std::string& text) {
             options->system = text;
             return Ok();
           });
  AddSwitch(verb, {"--no-wrap", "let the terminal break lines, also within words"}, options->wrap,
            Wrap::kNone);
  AddSettings(verb, options->settings);
  AddEngineArgs(verb, options->engine);
  AddSpeculationArgs(verb, options->speculation);
  AddConstraintArgs(verb, options->constraint);
  AddTraceArgs(verb, options->trace);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Chat, &chosen);
}

Status ChangeSetting(const std::string& name, const std::string& value, ChatSettings* settings) {
  ChatSettings changed = *settings;
  const auto add = [&changed](CLI::App& app) { AddSettings(app, changed); };
  RETURN_IF_ERROR(SetByName(add, name, value));
  RETURN_IF_ERROR(Validate(changed.sampling.params, std::numeric_limits<TokenId>::max()));
  *settings = std::move(changed);
  return Ok();
}

Status Chat(const ChatOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  RETURN_IF_ERROR(Validate(options.settings.sampling.params, std::numeric_limits<TokenId>::max()));
  ASSIGN_OR_RETURN(const std::optional<Grammar> grammar, ReadGrammar(options.constraint));
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const auto trace, TraceFile::Create(options.trace, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  const Result<ChatTemplate>& chat = model.chat_template();
  if (!chat.ok()) return Status(chat.status().code(), path + ": " + chat.status().message());
  ASSIGN_OR_RETURN(const auto constraint, ConstraintFor(grammar, model));
  EngineOptions engine_options = ToEngineOptions(options.engine);
  ASSIGN_OR_RETURN(engine_options.speculation,
                   LoadSpeculation(options.speculation, environment, options.engine, console));
  if (trace) engine_options.trace = trace->ring();
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, engine_options));
  if (trace) trace->Start(TraceHeaderOf("chat", model, engine, engine_options), model);
  WarnOfContext(model.info(), engine.context(), console);
  WarnOfSpeculation(model.info(), engine_options.speculation, console);
  const bool interactive = console.terminals().input && console.terminals().output;
  LineEditor::Mode mode = LineEditor::Mode::kPipe;
  if (interactive)
    mode = environment.has_escapes ? LineEditor::Mode::kInteractive : LineEditor::Mode::kDumb;
  LineEditor editor(mode);
  if (interactive) {
    console.Note(
        fmt::format("{}, context {}; /help for commands", model.info().name, engine.context()));
  }
  const bool wraps =
      options.wrap == Wrap::kWords && console.terminals().output && environment.has_escapes;
  ChatSession session(model, *chat, engine, options, console);
  session.SetConstraint(constraint);
  session.SetWrap(wraps ? Wrap::kWords : Wrap::kNone);
  RETURN_IF_ERROR(session.Run(editor));
  if (engine_options.speculation.kind != Speculation::kOff)
    console.Detail(SpeculationLine(engine.Stats()));
  return Ok();
}

}  // namespace skald::cli
