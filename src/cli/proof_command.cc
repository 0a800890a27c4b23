#include "cli/proof_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/proof_report.h"
#include "skald/proof.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  skald proof                                 the bundled model, about two seconds
  skald proof -m model.gguf --without scalar  larger ones: the scalar code is slow
  skald proof --fault                         with a run that must differ: exit code 1
  skald proof --json | jq .equal

Exit code 0: all runs gave the same bits; 1: one did not.
)";

constexpr uint64_t kSeed = 1;

// Long enough to be cut into pieces of 64 tokens by any tokenizer.
constexpr const char* kQuestion =
    "Once upon a time a small fox lived at the edge of a wood. Every evening she counted the "
    "lanterns of the village below, and every evening there was one more than the day before. "
    "\"Who lights the last one?\" she asked the owl. The owl did not know, and so the fox went "
    "down the hill to see for herself. It was dark, the grass was wet, and the wind smelled of "
    "snow. At the bridge she met an old man with a basket full of candles. \"Good evening\", said "
    "the fox.";

void AddFlags(CLI::App& verb, ProofOptions& options) {
  AddTextArgs(verb, options.prompt, "prompt");
  AddModelArgs(verb, options.model);
  AddInt<int64_t>(verb, {"-n,--n-predict", "tokens of the answer (default 48)"}, options.max_tokens,
                  {1, kMaxProofTokens});
  AddTexts(verb, {"--without", "leave out the run of this name, as the table has it; repeatable"},
           "NAME", options.without);
  AddSwitch(verb, {"--fault", "add a run with K and V of another type, to see the proof fail"},
            options.fault, true);
  AddSamplingArgs(verb, options.sampling);
  AddComputeArgs(verb, options.engine);
  AddOutputArgs(verb, options.output);
}

Result<std::vector<ProofCase>> CasesOf(const ProofOptions& options, const Model& model,
                                       const ProofQuestion& question) {
  std::vector<ProofCase> cases = ProofCases(model, question);
  if (options.fault) cases.push_back(PlantedFault(question));
  for (const std::string& name : options.without) {
    if (std::erase_if(cases, [&](const ProofCase& way) { return way.name == name; }) > 0) continue;
    std::vector<std::string> names;
    for (const ProofCase& way : cases) names.push_back(way.name);
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("--without: there is no run '{}', expected one of: {}", name,
                              fmt::join(names, ", ")));
  }
  return cases;
}

Result<ProofQuestion> QuestionOf(const ProofOptions& options, const Model& model,
                                 Console& console) {
  // Without a word of it the question is ours, whatever stands on stdin.
  const bool is_given = options.prompt.argument.has_value() || options.prompt.prompt.has_value() ||
                        options.prompt.file.has_value();
  std::optional<std::string> text;
  if (is_given) {
    ASSIGN_OR_RETURN(text, ReadText(options.prompt, console.terminals()));
  }
  ASSIGN_OR_RETURN(SamplingParams sampling, SamplingFor(options.sampling, model.tokenizer()));
  ProofQuestion question = {.prompt = {},
                            .sampling = std::move(sampling),
                            .max_tokens = options.max_tokens,
                            .threads = options.engine.threads,
                            .isa = options.engine.isa,
                            .kv_types = options.engine.kv_types,
                            .load = {.path = model.info().path,
                                     .threads = options.engine.threads,
                                     .ranks = options.engine.ranks.count,
                                     .conventions = options.engine.conventions,
                                     .rope = options.engine.rope,
                                     .endless = options.engine.endless}};
  question.sampling.seed = options.sampling.seed.value_or(kSeed);
  ASSIGN_OR_RETURN(question.prompt,
                   model.tokenizer().Encode(text.value_or(kQuestion), options.prompt.encode));
  return question;
}

// A line for each run as soon as it is over: the scalar one can take a while.
Status RunAll(const std::vector<ProofCase>& cases, OutputForm form, Prover& prover,
              ProofReport* report, Console& console) {
  const InterruptScope interrupt;
  if (form == OutputForm::kText) RETURN_IF_ERROR(console.Write(ProofHead()));
  for (const ProofCase& way : cases) {
    ASSIGN_OR_RETURN(ProofRow row, prover.Run(way));
    if (InterruptScope::Requested()) return Status(ErrorCode::kCancelled, "interrupted");
    if (form == OutputForm::kText) RETURN_IF_ERROR(console.Write(ProofLine(row)));
    report->rows.push_back(std::move(row));
  }
  report->answer_tokens = static_cast<int64_t>(prover.answer().size());
  return console.Write(form == OutputForm::kJson ? ProofJson(*report) : ProofVerdict(*report));
}

}  // namespace

void AddProofCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"proof", "Show that an answer is the same bits however it is computed", kExamples});
  const auto options = std::make_shared<ProofOptions>();
  AddFlags(verb, *options);
  ChooseWhenParsed(verb, options, Proof, &chosen);
}

Status Proof(const ProofOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  ASSIGN_OR_RETURN(ProofQuestion question, QuestionOf(options, model, console));
  ASSIGN_OR_RETURN(const std::vector<ProofCase> cases, CasesOf(options, model, question));
  ProofReport report = {.model = model.info().name,
                        .prompt_tokens = static_cast<int64_t>(question.prompt.size()),
                        .seed = question.sampling.seed};
  ASSIGN_OR_RETURN(Prover prover, Prover::Create(model, std::move(question)));
  RETURN_IF_ERROR(RunAll(cases, options.output.form, prover, &report, console));
  if (const int64_t different = CountDifferent(report); different > 0) {
    console.Mismatch(
        fmt::format("{} of {} runs gave other bits than the first", different, report.rows.size()));
  }
  return Ok();
}

}  // namespace skald::cli
