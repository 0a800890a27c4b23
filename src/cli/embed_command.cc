#include "cli/embed_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/loading.h"
#include "skald/model.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald embed "A fox in the wood"                     its numbers, on one line
  skald embed --pooling mean --json "A fox"           {"model", "pooling", "tokens", "embedding"}
  skald embed -m model.gguf -f document.txt --json
)";

std::string Text(OutputForm form, Pooling pooling, const ModelInfo& info,
                 const Embedding& embedding) {
  if (form == OutputForm::kText) return fmt::format("{}\n", fmt::join(embedding.values, " "));
  JsonWriter json;
  json.BeginObject().Key("model").String(info.name);
  json.Key("pooling").String(PoolingName(pooling));
  json.Key("tokens").Int(embedding.prompt_tokens);
  json.Key("embedding").BeginArray();
  for (const float value : embedding.values) json.Float(value);
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddEmbedCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"embed", "Turn a text into a vector", kExamples});
  const auto options = std::make_shared<EmbedOptions>();
  AddTextArgs(verb, options->text, "text");
  AddModelArgs(verb, options->model);
  AddPooling(verb, options->pooling);
  AddEngineArgs(verb, options->engine);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Embed, &chosen);
}

Status Embed(const EmbedOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadText(options.text, console.terminals()));
  if (!text.has_value())
    return Status(ErrorCode::kInvalidArgument,
                  "no text: give one as argument, with -p, with -f, or on stdin");
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  const Pooling pooling = PoolingFor(options.pooling, model.info());
  if (pooling == Pooling::kNone)
    return Status(ErrorCode::kInvalidArgument,
                  "no way to make an embedding: --pooling first, last or mean");
  Request request = {.prompt = {}, .pooling = pooling};
  ASSIGN_OR_RETURN(request.prompt, model.tokenizer().Encode(*text, options.text.encode));
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, ToEngineOptions(options.engine)));
  ASSIGN_OR_RETURN(const Embedding embedding, engine.Embed(std::move(request)));
  return console.Write(Text(options.output.form, pooling, model.info(), embedding));
}

}  // namespace skald::cli
