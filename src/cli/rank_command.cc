#include "cli/rank_command.h"

#include <fmt/format.h>

#include <memory>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/rank_args.h"
#include "cli/sandbox.h"
#include "skald/ranks.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  openssl rand -hex 32 > rank.key              once; the same file on every machine
  skald serve -m model.gguf --ranks 2 --rank-listen 10.0.0.1:7000 --rank-key rank.key
  skald rank 10.0.0.1:7000 --rank-key rank.key -m model.gguf       on the other machine

It ends when the first rank does. Who supervises it starts it anew. Docs: docs/ranks.md.
)";

// Once it has its part it needs no file, no program and no new connection.
void Limit(Console& console) {
  for (const Status& status : {LimitFiles({}), LimitCalls()}) {
    if (!status.ok()) console.Note(fmt::format("warning: {}", status.message()));
  }
}

}  // namespace

void AddRankCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"rank", "Compute a part of a model for another machine", kExamples});
  const auto options = std::make_shared<RankOptions>();
  AddText(verb, {"address", "HOST:PORT of the first rank's --rank-listen"}, kTextType,
          options->address)
      .Require();
  AddText(verb, {"-m,--model", "the model's file here (default: where the first rank has it)"},
          kModelType, options->model.model);
  AddRankKeyArgs(verb, options->key_file, options->wait_seconds);
  AddInt<int64_t>(verb, {"--rank-port", "port where other ranks come to; 0 = any (default 0)"},
                  options->port, {0, 65'535});
  AddInt<int>(verb, {"-t,--threads", "threads; 0 = all cores (default 0)"}, options->threads,
              {0, kThreadsMax});
  AddSwitch(verb, {"--no-sandbox", "keep the right to open files and connections"},
            options->sandbox, false);
  AddConsoleArgs(verb, options->console);
  ChooseWhenParsed(verb, options, Rank, &chosen);
}

Status Rank(const RankOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.console);
  ASSIGN_OR_RETURN(const std::string key, ReadRankKey(options.key_file));
  RankWorker::RemoteOptions remote = {.address = options.address,
                                      .key = key,
                                      .port = static_cast<uint16_t>(options.port),
                                      .patience_seconds = static_cast<double>(options.wait_seconds),
                                      .threads = options.threads};
  if (options.model.model) {
    ASSIGN_OR_RETURN(remote.path, ModelPath(environment, options.model, console));
  }
  ASSIGN_OR_RETURN(RankWorker worker, RankWorker::JoinAt(remote));
  // Before the threads of runners are started, which then are limited, too.
  if (options.sandbox) Limit(console);
  console.Note(fmt::format("computing a part of the model for {}", options.address));
  return worker.Run();
}

}  // namespace skald::cli
