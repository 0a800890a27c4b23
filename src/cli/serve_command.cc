#include "cli/serve_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <utility>

#include "base/json_writer.h"
#include "base/process_limits.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/loading.h"
#include "cli/rope_args.h"
#include "cli/sandbox.h"
#include "cli/utf8.h"
#include "skald/bench.h"
#include "skald/disk_cache.h"
#include "skald/ranks.h"
#include "skald/receipt.h"
#include "skald/version.h"

namespace skald::cli {

namespace {

constexpr const char* kServerGroup = "Server";
constexpr const char* kExamples = R"(Examples:
  skald serve                                        the bundled model on http://127.0.0.1:8080/v1
  skald serve -m model.gguf --port 9000 --parallel 32
  skald serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt
  curl http://127.0.0.1:8080/v1/completions -H 'Content-Type: application/json' \
    -d '{"prompt": "The fox", "max_tokens": 32}'

A browser shows what runs at http://127.0.0.1:8080/console.
Routes, fields, errors, security: docs/server.md.
)";

// A line of this size is written to a pipe whole or not at all (POSIX: PIPE_BUF is at least 512;
// Linux: 4096).
constexpr size_t kLineMax = 4096;

// One line on stderr, unless that would make the server wait: a full pipe or a stopped terminal
// loses lines rather than requests.
void LogLine(std::string line) {
  if (line.size() >= kLineMax) line.resize(kLineMax - 1);
  line += '\n';
  pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

Result<EngineOptions> MakeEngineOptions(const ServeOptions& options, const Model& model) {
  EngineOptions engine = ToEngineOptions(options.engine);
  engine.max_running = options.max_running;
  engine.max_queued = options.max_queued;
  ASSIGN_OR_RETURN(const EnginePlan plan, Engine::Plan(model, engine));
  engine.kv_positions = options.kv_positions > 0 ? options.kv_positions : 4 * plan.context;
  return engine;
}

// What the server needs beside connections: model, log, epoll, timers, and room for surprises.
constexpr int64_t kOtherDescriptors = 64;
constexpr int64_t kMostConnections = 8192;

// As many as asked for, or as descriptors allow.
Result<int64_t> ConnectionsFor(int64_t asked) {
  const int64_t descriptors = RaiseDescriptorLimit();
  const int64_t most = descriptors - kOtherDescriptors;
  if (most < 1 || asked > most) {
    return Status(ErrorCode::kResourceExhausted,
                  fmt::format("{} connections need {} descriptors, the system allows {} (ulimit "
                              "-n, LimitNOFILE)",
                              std::max<int64_t>(asked, 1),
                              std::max<int64_t>(asked, 1) + kOtherDescriptors, descriptors));
  }
  return asked > 0 ? asked : std::min(most, kMostConnections);
}

// As many as asked for, or an eighth of memory: beside weights and KV there is room for it, and
// three bodies of the largest size fit in any case.
int64_t BufferedBytesFor(int64_t asked) {
  constexpr uint64_t kLeast = uint64_t{64} << 20;
  constexpr uint64_t kMost = uint64_t{4} << 30;
  if (asked > 0) return asked;
  return static_cast<int64_t>(std::clamp(MemoryLimitBytes() / 8, kLeast, kMost));
}

std::string DrawSecret() {
  std::random_device device;
  std::string secret(32, '\0');
  for (char& c : secret) c = static_cast<char>(device());
  return secret;
}

int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// "tales" for ".../tales.gguf": what people call it.
std::string NameOf(const ServeOptions& options, const std::string& path) {
  if (options.alias) return *options.alias;
  std::string name = path.substr(path.find_last_of('/') + 1);
  constexpr std::string_view kSuffix = ".gguf";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

// Of what was asked for: what the bits of answers depend on.
std::string FingerprintSettings(const ServeOptions& options) {
  std::string settings = KvTypesName(options.engine.kv_types);
  if (options.engine.conventions == Conventions::kLlamaCpp) settings += "_llama.cpp";
  if (!options.engine.rope.empty()) settings += "_" + RopeName(options.engine.rope);
  if (options.engine.endless.exists()) settings += "_" + EndlessName(options.engine.endless);
  if (options.speculation.rule == SpeculationRule::kRejection) settings += "_rejection";
  return settings;
}

void AddServerArgs(CLI::App& app, ServeOptions& options) {
  const auto group = [](AddedFlag flag) { flag.Group(kServerGroup); };
  group(AddValue(app, {"--host", "numeric address to listen on (default 127.0.0.1)"}, "ADDRESS",
                 [&options](const std::string& value) {
                   options.host = value == "localhost" ? "127.0.0.1" : value;
                   return Ok();
                 }));
  group(AddInt<uint16_t>(app, {"--port", "port; 0 = any that is free (default 8080)"}, options.port,
                         {0, 65535}));
  group(
      AddText(app,
              {"--admin-listen",
               "further address, of this machine, for monitors: /metrics, /slots, health, without "
               "keys"},
              "ADDRESS:PORT", options.admin_listen));
  group(AddText(app, {"--api-key-file", "file with the keys that are let in, one a line"},
                kFileType, options.api_key_file));
  group(AddText(app, {"-a,--alias,--served-model-name", "what clients call the model"}, kTextType,
                options.alias));
  group(AddSwitch(app,
                  {"--any-model-name", "answer for every name of a model that clients ask for"},
                  options.model_names, ModelNames::kAny));
  group(AddTexts(app, {"--allowed-host", "name that requests may give as Host; repeatable"},
                 kTextType, options.allowed_hosts));
  group(AddTexts(
      app,
      {"--allowed-origin", "web pages that may ask, https://host or *; repeatable (default none)"},
      kTextType, options.allowed_origins));
  group(AddPooling(app, options.pooling));
  group(AddInt<int64_t>(app,
                        {"--parallel,--max-running", "sequences computed together (default 16)"},
                        options.max_running, {1, 1024}));
  group(AddInt<int64_t>(app, {"--max-queued", "requests that may wait (default 256)"},
                        options.max_queued, {1, 1'000'000}));
  group(AddInt<int64_t>(app, {"--kv-positions", "tokens of KV cache in all; 0 = four contexts"},
                        options.kv_positions, {0, int64_t{1} << 40}));
  group(AddInt<int64_t>(
      app, {"--max-connections", "open connections; 0 = as descriptors allow, up to 8192"},
      options.max_connections, {0, 1'000'000}));
  group(AddInt<int64_t>(app,
                        {"--max-buffered-bytes",
                         "bytes of bodies and unread answers of all clients; 0 = an eighth of "
                         "memory"},
                        options.max_buffered_bytes, {0, int64_t{1} << 50}));
  group(AddInt<int64_t>(app, {"--drain", "seconds for answers to end after SIGTERM (default 30)"},
                        options.drain_seconds, {0, 86'400}));
  AddDiskArgs(app, kServerGroup, options.disk);
  group(AddSwitch(app,
                  {"--receipts",
                   "give receipts to requests that ask; reads the model's whole file at the start"},
                  options.receipts, true));
  group(AddSwitch(app,
                  {"--ceilings",
                   "measure what the machine can do, in half a second before serving: the console "
                   "then shows each step beside it"},
                  options.ceilings, true));
  group(AddSwitch(app, {"--no-sandbox", "keep files and system calls that serving does not need"},
                  options.sandbox, false));
}

// What can still be opened while serving. The key file is read again on demand, and who changes it
// usually puts a new file in its place, which is not the one that has the name now: hence its
// directory. OpenSSL reads its configuration when it is first used.
std::vector<std::string> ReadableFiles(const ServeOptions& options) {
  std::vector<std::string> readable = {"/etc/ssl/openssl.cnf"};
  if (options.api_key_file)
    readable.push_back(std::filesystem::absolute(*options.api_key_file).parent_path().string());
  return readable;
}

Status SetKeys(const ServeOptions& options, ServerOptions* server) {
  if (!options.api_key_file) return Ok();
  ASSIGN_OR_RETURN(server->api_keys, ReadInput(*options.api_key_file));
  if (server->api_keys.empty())
    return Status(ErrorCode::kInvalidArgument, *options.api_key_file + ": there is no key in it");
  server->read_api_keys = [file = *options.api_key_file] { return ReadInput(file); };
  server->on_notice = LogLine;
  return Ok();
}

// Before the engine is there: its memory goes again, and nobody else computes.
Status SetCeilings(const ServeOptions& options, ServerOptions* server) {
  if (!options.ceilings) return Ok();
  ASSIGN_OR_RETURN(CeilingMeter meter,
                   CeilingMeter::Create(options.engine.threads, options.engine.isa));
  server->ceilings = meter.Measure();
  return Ok();
}

// A port may be any; the address is as it was given.
void NoteMonitors(const ServeOptions& options, const Server& server, Console& console) {
  if (server.admin_port() == 0) return;
  const std::string& address = *options.admin_listen;
  console.Note(fmt::format("monitors on http://{}:{}, without keys",
                           address.substr(0, address.rfind(':')), server.admin_port()));
}

// Before the right to open files is given up. Namespaces are derived from the folder's secret then,
// or nobody would find his prompts again after a restart.
Status OpenCache(const ServeOptions& options, EngineOptions* engine, ServerOptions* server) {
  ASSIGN_OR_RETURN(engine->disk, OpenDisk(options.disk));
  if (engine->disk == nullptr) return Ok();
  ASSIGN_OR_RETURN(server->cache_secret, engine->disk->KeepSecret(DrawSecret()));
  return Ok();
}

// Errors: kUnsupported, where guesses decide about tokens.
Status SetReceipts(const ServeOptions& options, const EngineOptions& engine,
                   ServerOptions* server) {
  if (!options.receipts) return Ok();
  server->receipts = engine.kv_types;
  return CheckReceipt({}, engine.speculation);
}

// The process cannot end in order: that would wait for what stands.
void EndDead(const std::string& what) {
  LogLine("error: " + what);
  std::_Exit(static_cast<int>(ExitCode::kEngineDead));
}

// Serves; where a rank of the model is lost, clients hear of it, and whoever supervises this
// process starts it anew.
Status RunServer(const Model& model, Server* server) {
  const RankGroup& group = model.group();
  if (group == nullptr) return server->Run();
  WhenRankLost(group, [server](const Status& why) { server->StopBecause(why); });
  const Status end = server->Run();
  WhenRankLost(group, nullptr);
  if (!end.ok()) EndDead(end.message());
  return end;
}

// A server without its sandbox serves as well: that is said, not refused.
void NoteSandbox(const Status& status, std::string_view lost, Console& console) {
  if (status.ok()) return;
  console.Note(fmt::format("warning: {}; {} (--no-sandbox: no warning)", status.message(), lost));
}

}  // namespace

std::string AccessLine(const AccessRecord& record, OutputForm form) {
  if (form == OutputForm::kText) {
    return fmt::format(
        "{} {} {} {} {} {} bytes {:.3f} s{}", record.client,
        record.tenant.empty() ? "-" : record.tenant, TerminalLine(record.method),
        TerminalLine(record.path), record.status, record.bytes, record.seconds,
        record.id.empty()
            ? std::string()
            : fmt::format(" {} prompt {} cached {} output {}{}{}", record.id, record.prompt_tokens,
                          record.cached_tokens, record.output_tokens,
                          record.warnings.empty() ? "" : " warnings ", record.warnings));
  }
  JsonWriter json;
  json.BeginObject().Key("client").String(record.client);
  json.Key("tenant").String(record.tenant);
  json.Key("method").String(record.method).Key("path").String(record.path);
  json.Key("status").Int(record.status).Key("id").String(record.id);
  json.Key("bytes").Int(record.bytes).Key("seconds").Double(record.seconds);
  json.Key("prompt_tokens").Int(record.prompt_tokens);
  json.Key("cached_tokens").Int(record.cached_tokens);
  json.Key("output_tokens").Int(record.output_tokens);
  json.Key("warnings").String(record.warnings).EndObject();
  return json.Take();
}

void AddServeCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"serve", "Serve a model over HTTP, as OpenAI's API", kExamples});
  const auto options = std::make_shared<ServeOptions>();
  AddModelArgs(verb, options->model);
  AddModelWord(verb, options->model);
  AddServerArgs(verb, *options);
  AddEngineArgs(verb, options->engine);
  AddSpeculationArgs(verb, options->speculation);
  AddTraceArgs(verb, options->trace);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Serve, &chosen);
}

Status Serve(const ServeOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const int64_t connections, ConnectionsFor(options.max_connections));
  ServerOptions server_options = {
      .host = options.host,
      .port = options.port,
      .admin_listen = options.admin_listen.value_or(""),
      .model_names = options.model_names,
      .version = std::string(kVersion),
      .fingerprint_settings = FingerprintSettings(options),
      .allowed_hosts = options.allowed_hosts,
      .allowed_origins = options.allowed_origins,
      .secret = DrawSecret(),
      .unix_seconds = UnixSeconds,
      .max_connections = connections,
      .max_buffered_bytes = BufferedBytesFor(options.max_buffered_bytes),
      .drain_seconds = static_cast<double>(options.drain_seconds)};
  RETURN_IF_ERROR(SetKeys(options, &server_options));
  server_options.on_dead = EndDead;
  if (console.verbosity() != Verbosity::kQuiet)
    server_options.on_access = [form = options.output.form](const AccessRecord& record) {
      LogLine(AccessLine(record, form));
    };

  const Stopwatch watch;
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const auto trace, TraceFile::Create(options.trace, console));
  EngineArgs engine_args = options.engine;
  engine_args.ranks.sandbox = options.sandbox ? RankSandbox::kLimited : RankSandbox::kFree;
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, engine_args, console));
  ASSIGN_OR_RETURN(EngineOptions engine_options, MakeEngineOptions(options, model));
  ASSIGN_OR_RETURN(engine_options.speculation,
                   LoadSpeculation(options.speculation, environment, options.engine, console));
  RETURN_IF_ERROR(SetReceipts(options, engine_options, &server_options));
  RETURN_IF_ERROR(OpenCache(options, &engine_options, &server_options));
  RETURN_IF_ERROR(SetCeilings(options, &server_options));
  // Before the engine starts its threads, which then are limited, too.
  if (options.sandbox) {
    const Signals signals = model.group() == nullptr ? Signals::kInside : Signals::kOutside;
    NoteSandbox(LimitFiles(ReadableFiles(options), signals), "any file of this user can be read",
                console);
  }
  if (trace) engine_options.trace = trace->ring();
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, engine_options));
  if (trace) trace->Start(TraceHeaderOf("serve", model, engine, engine_options), model);
  WarnOfContext(model.info(), engine.context(), console);
  WarnOfSpeculation(model.info(), engine_options.speculation, console);
  server_options.model_name = NameOf(options, path);
  server_options.pooling = PoolingFor(options.pooling, model.info());
  const std::string name = server_options.model_name;
  ASSIGN_OR_RETURN(Server server,
                   Server::Create(model, std::move(engine), std::move(server_options)));
  NoteMonitors(options, server, console);
  // Last: threads and sockets are there.
  if (options.sandbox) NoteSandbox(LimitCalls(), "all system calls can be made", console);
  console.Note(fmt::format("serving {} on http://{}:{}/v1, ready after {:.2f} s", name,
                           options.host.find(':') == std::string::npos
                               ? options.host
                               : fmt::format("[{}]", options.host),
                           server.port(), watch.Seconds()));
  return RunServer(model, &server);
}

}  // namespace skald::cli
