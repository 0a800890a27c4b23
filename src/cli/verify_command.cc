#include "cli/verify_command.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/input.h"
#include "cli/loading.h"
#include "cli/utf8.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  skald run "The fox" --receipt fox.json      an answer, and what proves it
  skald verify fox.json                       the bundled model said this
  skald verify answer.json -m model.gguf --json

Exit code 0: the model said this; 1: it did not, or the receipt was changed. Docs: docs/receipts.md.
)";

Status ReadIds(const std::optional<std::string>& path, std::vector<TokenId>* ids) {
  if (!path.has_value()) return Ok();
  ASSIGN_OR_RETURN(const std::string text, ReadInput(*path));
  ASSIGN_OR_RETURN(*ids, ParseTokenIds(text));
  return Ok();
}

Result<Verdict> Check(const VerifyCommandOptions& options, const Receipt& receipt,
                      const Environment& environment, Console& console) {
  VerifyOptions verify = {
      .threads = options.engine.threads, .isa = options.engine.isa, .context = options.context};
  RETURN_IF_ERROR(ReadIds(options.prompt_tokens, &verify.prompt));
  RETURN_IF_ERROR(ReadIds(options.output_tokens, &verify.output));
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  // The receipt says how the model was loaded.
  EngineArgs engine = options.engine;
  engine.conventions = receipt.conventions;
  engine.rope = receipt.rope;
  engine.endless = receipt.endless;
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, engine, console));
  return VerifyReceipt(model, receipt, verify);
}

}  // namespace

std::string VerdictText(const Verdict& verdict, const Receipt& receipt) {
  if (!verdict.holds) {
    return fmt::format("does not hold ({}): {}\n", verdict.part, TerminalLine(verdict.message));
  }
  // Not by the name that the receipt has: anybody can write one.
  return fmt::format("holds: this model ({}...) said these {} tokens behind a prompt of {} ({})\n",
                     receipt.model_sha256.substr(0, 12), receipt.output.count, receipt.prompt.count,
                     Duration(verdict.seconds));
}

std::string VerdictJson(const Verdict& verdict) {
  JsonWriter json;
  json.BeginObject().Key("holds").Bool(verdict.holds);
  json.Key("part").String(verdict.part).Key("message").String(verdict.message);
  json.Key("token");
  verdict.token.has_value() ? json.Int(*verdict.token) : json.Null();
  json.Key("seconds").Double(verdict.seconds).EndObject();
  return json.Take() + '\n';
}

void AddVerifyCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"verify", "Check that a model said what a receipt says", kExamples});
  const auto options = std::make_shared<VerifyCommandOptions>();
  AddText(verb, {"receipt", "the file of skald run --receipt; - is stdin"}, kFileType,
          options->receipt)
      .Require();
  AddModelArgs(verb, options->model);
  AddText(verb, {"--prompt-tokens", "the token ids of the prompt, if the receipt has hashes"},
          kFileType, options->prompt_tokens);
  AddText(verb, {"--output-tokens", "the token ids of the output, if the receipt has hashes"},
          kFileType, options->output_tokens);
  AddInt<int64_t>(
      verb, {"-c,--ctx-size", "most tokens of a receipt; 0 = the model's context (default 0)"},
      options->context, {0, int64_t{1} << 23});
  AddThreadArgs(verb, options->engine);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Verify, &chosen);
}

Status Verify(const VerifyCommandOptions& options, const Environment& environment,
              Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const std::string text, ReadInput(options.receipt));
  Result<Receipt> receipt = ParseReceipt(text);
  Verdict verdict = {.part = "form", .message = receipt.status().message()};
  if (receipt.ok()) {
    ASSIGN_OR_RETURN(verdict, Check(options, *receipt, environment, console));
  }
  const Receipt unread;
  RETURN_IF_ERROR(console.Write(options.output.form == OutputForm::kJson
                                    ? VerdictJson(verdict)
                                    : VerdictText(verdict, receipt.ok() ? *receipt : unread)));
  if (!verdict.holds) console.Mismatch("the receipt does not hold");
  return Ok();
}

}  // namespace skald::cli
