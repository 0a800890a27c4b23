#include "cli/lab_command.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lab_report.h"
#include "cli/loading.h"
#include "cli/output_file.h"
#include "skald/lab.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  skald lab                                    what experiments there are
  skald lab key                                one key of the bundled model becomes random
  skald lab forget-cache -p "Once upon a time" -n 24
  skald lab rope-position --position 20 -m model.gguf
  skald lab future --svg future.svg            as a drawing
  skald lab shared-cache --json | jq .parts_at

Exit code 0: it came out clean without the fault; 1: it did not. Docs: docs/lab.md.
)";

// Long enough to have a middle, and that the answer goes on with what was said.
constexpr const char* kPrompt =
    "Once upon a time there was a small fox who lived at the edge of a wood. Every evening she "
    "counted the lanterns of the village below. One evening";

void AddFlags(CLI::App& verb, LabOptions& options) {
  AddText(verb, {"experiment", "which one; without it they are listed"}, "NAME",
          options.experiment);
  AddTextFlags(verb, options.prompt, "prompt");
  AddModelArgs(verb, options.model);
  AddInt<int64_t>(verb, {"-n,--n-predict", "tokens of the answer (default 64)"}, options.max_tokens,
                  {1, kMaxLabTokens});
  AddValue(verb, {"--position", "where the fault is, counted in tokens (default the experiment's)"},
           "N", [&options](const std::string& value) {
             ASSIGN_OR_RETURN(options.position, ParseInt<int64_t>(value, {1, kMaxLabTokens}));
             return Ok();
           });
  AddText(verb, {"--svg", "draw it; - is stdout"}, kFileType, options.svg);
  AddThreadArgs(verb, options.engine);
  AddOutputArgs(verb, options.output);
}

Status List(const LabOptions& options, Console& console) {
  const auto experiments = LabExperiments();
  return console.Write(options.output.form == OutputForm::kJson ? LabListJson(experiments)
                                                                : LabList(experiments));
}

Result<LabQuestion> QuestionOf(const LabOptions& options, const Model& model, Console& console) {
  // Without a word of it the prompt is ours, whatever stands on stdin.
  std::optional<std::string> text;
  if (options.prompt.prompt || options.prompt.file) {
    ASSIGN_OR_RETURN(text, ReadText(options.prompt, console.terminals()));
  }
  LabQuestion question = {.prompt = {},
                          .max_tokens = options.max_tokens,
                          .position = options.position,
                          .threads = options.engine.threads,
                          .isa = options.engine.isa};
  ASSIGN_OR_RETURN(question.prompt,
                   model.tokenizer().Encode(text.value_or(kPrompt), options.prompt.encode));
  return question;
}

// The command that stands at the end of the drawing.
std::string CommandOf(const LabOptions& options) {
  std::string command = "skald lab " + *options.experiment;
  if (options.model.model) command += " -m " + *options.model.model;
  if (options.prompt.prompt) command += " -p " + *options.prompt.prompt;
  if (options.prompt.file) command += " -f " + *options.prompt.file;
  command += fmt::format(" -n {}", options.max_tokens);
  if (options.position) command += fmt::format(" --position {}", *options.position);
  return command + " --svg " + *options.svg;
}

Status Draw(const LabOptions& options, const LabResult& result) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(*options.svg));
  RETURN_IF_ERROR(file.Write(LabSvg(result, CommandOf(options))));
  return file.Commit();
}

Status Show(const LabOptions& options, const LabExperiment& experiment, const LabResult& result,
            Console& console) {
  if (options.svg) {
    RETURN_IF_ERROR(Draw(options, result));
    if (*options.svg == "-") return Ok();
  }
  if (options.output.form == OutputForm::kJson) return console.Write(LabJson(result));
  return console.Write(
      LabText(experiment, result, console.has_color() ? Painting::kColored : Painting::kPlain));
}

}  // namespace

void AddLabCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"lab", "Break the engine on purpose, one thing at a time, and see what comes of it",
             kExamples});
  const auto options = std::make_shared<LabOptions>();
  AddFlags(verb, *options);
  ChooseWhenParsed(verb, options, Lab, &chosen);
}

Status Lab(const LabOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  if (!options.experiment) return List(options, console);
  ASSIGN_OR_RETURN(const LabExperiment experiment, FindLabExperiment(*options.experiment));
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  ASSIGN_OR_RETURN(const LabQuestion question, QuestionOf(options, model, console));
  const InterruptScope interrupt;
  ASSIGN_OR_RETURN(const LabResult result, RunLab(model, experiment.name, question,
                                                  [] { return !InterruptScope::Requested(); }));
  RETURN_IF_ERROR(Show(options, experiment, result, console));
  if (!result.is_clean) console.Mismatch(result.clean);
  return Ok();
}

}  // namespace skald::cli
