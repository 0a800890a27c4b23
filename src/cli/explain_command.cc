#include "cli/explain_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/output_file.h"
#include "skald/explain.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  skald explain                                     the bundled model
  skald explain "Once upon a time" -m model.gguf -n 4
  skald explain --step 1 --layer 0 --depth 4        one layer down to its matrices
  skald explain --warm                              the prompt from the cache
  skald explain --html page.html                    tokens, choices, trees and pages to look at
  skald explain --all --html page.html              with attention, lens, experts, values
  skald explain --attention --json                  how each head shares its attention
  skald explain --prompt-probs -f text.txt          what of a text surprises the model
  skald explain --json | jq '.steps[1].tree.seconds'

Docs: docs/explain.md.
)";

constexpr uint64_t kSeed = 1;
constexpr const char* kPrompt = "Once upon a time";
constexpr const char* kViewGroup = "What is shown";

void AddViewArgs(CLI::App& verb, ExplainView& view) {
  AddInt<int64_t>(verb,
                  {"--depth", "levels of a tree: layers, blocks, operations, matrices (default 2)"},
                  view.depth, {0, kMostExplainDepth})
      .Group(kViewGroup);
  AddInt<int64_t>(verb, {"--layer", "of the layers only this one (default all)"}, view.layer,
                  {0, 1 << 16})
      .Group(kViewGroup);
  AddValue(verb, {"--step", "steps to show as trees (default the first, and the first decode)"},
           "LIST",
           [&view](const std::string& value) {
             ASSIGN_OR_RETURN(view.steps, ParseIntList(value, {0, 1 << 20}));
             return Ok();
           })
      .Group(kViewGroup);
}

void AddTapArgs(CLI::App& verb, ExplainOptions& options) {
  constexpr const char* kGroup = "What else is looked at";
  AddSwitch(verb, {"--attention", "how each head of each layer shares its attention"},
            options.attention, true)
      .Group(kGroup);
  AddSwitch(verb, {"--lens", "the token that the model would give behind each layer"}, options.lens,
            true)
      .Group(kGroup);
  AddSwitch(verb, {"--experts", "the experts that each token goes to"}, options.experts, true)
      .Group(kGroup);
  AddSwitch(verb, {"--tensors", "values of activations and weights, with histograms"},
            options.tensors, true)
      .Group(kGroup);
  AddCallback(verb, {"--all", "all four of these"}, [&options] {
    options.attention = options.lens = options.experts = options.tensors = true;
  }).Group(kGroup);
  AddSwitch(verb,
            {"--prompt-probs", "how likely each token of the prompt was (all of it is computed)"},
            options.prompt_probs, true)
      .Group(kGroup);
}

void AddFlags(CLI::App& verb, ExplainOptions& options) {
  AddTextArgs(verb, options.prompt, "prompt");
  AddModelArgs(verb, options.model);
  AddInt<int64_t>(verb, {"-n,--n-predict", "tokens of the answer (default 8)"}, options.max_tokens,
                  {1, kMaxExplainTokens});
  AddSwitch(verb, {"--warm", "ask the same once before: the prompt is in the cache then"},
            options.warm, true);
  AddTapArgs(verb, options);
  AddViewArgs(verb, options.view);
  AddText(verb, {"--html", "draw all of it as one page that needs nothing else; - is stdout"},
          kFileType, options.html)
      .Group(kViewGroup);
  AddSwitch(verb, {"--no-ceiling", "measure no ceilings and show no shares of them"},
            options.compare, false)
      .Group(kViewGroup);
  AddSamplingArgs(verb, options.sampling);
  AddMachineArgs(verb, options.machine);
  AddEngineArgs(verb, options.engine);
  AddOutputArgs(verb, options.output);
}

Result<ExplainQuestion> QuestionOf(const ExplainOptions& options, const Model& model,
                                   Console& console) {
  // Without a word of it the prompt is ours, whatever stands on stdin.
  const bool is_given = options.prompt.argument || options.prompt.prompt || options.prompt.file;
  std::optional<std::string> text;
  if (is_given) {
    ASSIGN_OR_RETURN(text, ReadText(options.prompt, console.terminals()));
  }
  ASSIGN_OR_RETURN(SamplingParams sampling, SamplingFor(options.sampling, model.tokenizer()));
  ExplainQuestion question = {.prompt = {},
                              .sampling = std::move(sampling),
                              .max_tokens = options.max_tokens,
                              .warm = options.warm,
                              .attention = options.attention,
                              .lens = options.lens,
                              .experts = options.experts,
                              .tensors = options.tensors,
                              .prompt_probabilities = options.prompt_probs,
                              .pooling = PoolingFor(std::nullopt, model.info()),
                              .engine = ToEngineOptions(options.engine)};
  question.sampling.seed = options.sampling.seed.value_or(kSeed);
  question.engine.max_running = 1;
  ASSIGN_OR_RETURN(question.prompt,
                   model.tokenizer().Encode(text.value_or(kPrompt), options.prompt.encode));
  return question;
}

// The command that stands at the end of the page; a prompt is in the page itself.
std::string CommandOf(const ExplainOptions& options, uint64_t seed) {
  std::string command = "skald explain";
  if (options.model.model) command += " -m " + *options.model.model;
  command += fmt::format(" -n {} --seed {}", options.max_tokens, seed);
  if (options.warm) command += " --warm";
  if (options.attention) command += " --attention";
  if (options.lens) command += " --lens";
  if (options.experts) command += " --experts";
  if (options.tensors) command += " --tensors";
  if (options.prompt_probs) command += " --prompt-probs";
  return command + " --html " + *options.html;
}

Status Draw(const ExplainOptions& options, const Explanation& explanation) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(*options.html));
  RETURN_IF_ERROR(
      file.Write(ExplainPage(explanation, CommandOf(options, explanation.sampling.seed))));
  return file.Commit();
}

}  // namespace

void AddExplainCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"explain",
                                  "Show what happens between a prompt and its answer, with shapes, "
                                  "times, bytes and operations",
                                  kExamples});
  const auto options = std::make_shared<ExplainOptions>();
  AddFlags(verb, *options);
  ChooseWhenParsed(verb, options, Explain, &chosen);
}

Status Explain(const ExplainOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model,
                   LoadWithProgress(path, options.engine, console, RanksAs::kThreads));
  ASSIGN_OR_RETURN(ExplainQuestion question, QuestionOf(options, model, console));
  if (options.compare) {
    ASSIGN_OR_RETURN(const Machine machine, FindMachine(options.machine, options.engine, console));
    question.ceilings = machine.ceilings;
  }
  const InterruptScope interrupt;
  ASSIGN_OR_RETURN(const Explanation explanation,
                   ExplainRun(model, question, [] { return !InterruptScope::Requested(); }));
  ExplainView view = options.view;
  view.has_color = console.has_color();
  view.has_cards = options.tensors;
  ASSIGN_OR_RETURN(const std::string text, ExplainText(explanation, view));
  if (options.html) {
    RETURN_IF_ERROR(Draw(options, explanation));
    if (*options.html == "-") return Ok();
  }
  if (options.output.form == OutputForm::kJson) return console.Write(ExplainJson(explanation));
  return console.Write(text);
}

}  // namespace skald::cli
