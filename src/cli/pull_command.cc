#include "cli/pull_command.h"

#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "cli/flags.h"
#include "cli/model_source.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald pull hf://owner/name-GGUF              the usual size: Q4_K_M, else Q8_0
  skald pull hf://owner/name-GGUF:Q6_K         another
  skald pull https://host/models/model.gguf    from an address
  skald chat hf://owner/name-GGUF              pulls it if it is not here

What has come stays: after a break the same command goes on. HF_TOKEN, HF_ENDPOINT, HF_HOME,
HF_HUB_CACHE, https_proxy and no_proxy count as elsewhere.
)";

std::string Json(const Pulled& pulled, double seconds) {
  JsonWriter json;
  json.BeginObject().Key("model").String(ToText(pulled.model.reference));
  json.Key("path").String(pulled.path).Key("commit").String(pulled.model.commit);
  json.Key("bytes").Int(pulled.model.bytes).Key("seconds").Double(seconds);
  json.Key("files").BeginArray();
  for (const RemoteFile& file : pulled.model.files) {
    json.BeginObject().Key("name").String(file.path).Key("bytes").Int(file.bytes);
    json.Key("sha256").String(file.sha256).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddPullCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"pull", "Fetch a model from Hugging Face or an address", kExamples});
  const auto options = std::make_shared<PullOptions>();
  AddText(verb, {"model", "hf://owner/name[@revision][:size], or https://host/file.gguf"},
          kTextType, options->model)
      .Require();
  AddInt<int>(verb, {"--connections", "ranges of a file fetched at once (default 4)"},
              options->connections, {.min = 1, .max = 16});
  AddInt<int>(verb,
              {"--patience",
               "give up a connection after so many seconds without a byte "
               "(default 30)"},
              options->patience_seconds, {.min = 1, .max = 3600});
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Pull, &chosen);
}

Status Pull(const PullOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const ModelReference reference, ParseModelReference(*options.model));
  if (environment.hub.is_offline)
    return Status(ErrorCode::kUnavailable, "HF_HUB_OFFLINE forbids to fetch anything");
  ASSIGN_OR_RETURN(HubOptions hub, HubOptionsOf(environment));
  hub.connections = options.connections;
  hub.patience_seconds = options.patience_seconds;
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const Pulled pulled, PullWithProgress(hub, reference, console));
  return console.Write(options.output.form == OutputForm::kJson ? Json(pulled, stopwatch.Seconds())
                                                                : pulled.path + "\n");
}

}  // namespace skald::cli
