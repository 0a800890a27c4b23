#include "cli/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "cli/bench_report.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/speculation_args.h"
#include "skald/version.h"

namespace skald::cli {

namespace {

constexpr const char* kTraceGroup = "Record";

// How old a line may be when it is written: nobody looks more often, and a ring of 32,768 events
// holds what a thousand steps of 16 sequences tell.
constexpr std::chrono::milliseconds kRound(10);

constexpr mode_t kOwnerOnly = 0600;

std::string SystemMessage(int error) { return std::generic_category().message(error); }

// Also where the file was there before: it is to hold what people have typed.
Status MakePrivate(const std::string& path, int descriptor) {
  struct stat file {};
  const bool ok = fstat(descriptor, &file) == 0 &&
                  (!S_ISREG(file.st_mode) || fchmod(descriptor, kOwnerOnly) == 0);
  if (ok) return Ok();
  return Status(ErrorCode::kIo,
                fmt::format("cannot keep '{}' from others: {}", path, SystemMessage(errno)));
}

std::span<const TokenId> TokensOf(const TraceEvent& event) {
  if (const auto* token = std::get_if<TraceToken>(&event.body)) return {&token->token, 1};
  if (const auto* prompt = std::get_if<TracePrompt>(&event.body))
    return std::span(prompt->tokens.ids).first(prompt->tokens.count);
  return {};
}

int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

void AddTraceArgs(CLI::App& app, TraceArgs& args) {
  AddText(app,
          {"--trace",
           "write what the engine does to FILE as JSON lines, with the text of prompts and "
           "answers (docs/trace.md)"},
          kFileType, args.path)
      .Group(kTraceGroup);
  AddSwitch(app,
            {"--trace-probs", "and how probable the model found each token: slows small models"},
            args.ring.model_probabilities, true)
      .Group(kTraceGroup);
}

Result<std::unique_ptr<TraceFile>> TraceFile::Create(const TraceArgs& args, Console& console) {
  if (!args.path) {
    if (!args.ring.model_probabilities) return std::unique_ptr<TraceFile>();
    return Status(ErrorCode::kInvalidArgument, "--trace-probs needs --trace FILE");
  }
  const std::string& path = *args.path;
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, kOwnerOnly);
  if (descriptor < 0)
    return Status(ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, SystemMessage(errno)));
  auto file = std::make_unique<TraceFile>(path, descriptor, args.ring, console);
  RETURN_IF_ERROR(MakePrivate(path, descriptor));
  return file;
}

TraceFile::TraceFile(std::string path, int descriptor, const TraceOptions& options,
                     Console& console)
    : path_(std::move(path)),
      cpu_(CpuNameHere()),
      descriptor_(descriptor),
      console_(console),
      ring_(std::make_shared<TraceRing>(options)) {}

TraceFile::~TraceFile() {
  if (thread_) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    ending_.notify_one();
    thread_.reset();
  }
  // Some file systems say only now that there was no room.
  if (close(descriptor_) != 0) Fail(SystemMessage(errno));
}

void TraceFile::Start(TraceHeader header, const Model& model) {
  header.cpu = cpu_;
  model_ = model;
  Write(TraceHeaderLine(header) + '\n');
  thread_.emplace("trace", [this] { Main(); });
}

// Once more after the word to stop: the engine has ended by then, and nothing comes any more.
void TraceFile::Main() {
  GiveWay();
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    last = ending_.wait_for(lock, kRound, [this] { return stop_; });
    lock.unlock();
    WriteEvents();
    lock.lock();
  }
  // Behind the last event that found room.
  const int64_t unsaid = ring_->lost_count() - said_lost_;
  if (unsaid > 0)
    Write(TraceLine({.seconds = last_seconds_, .body = TraceLost{unsaid}}, {}) + '\n');
}

void TraceFile::WriteEvents() {
  events_.clear();
  ring_->Take(&events_);
  if (failed_ || events_.empty()) return;
  std::string lines;
  for (const TraceEvent& event : events_) {
    lines += TraceLine(event, TextsOf(event));
    lines += '\n';
    if (const auto* lost = std::get_if<TraceLost>(&event.body)) said_lost_ += lost->count;
  }
  last_seconds_ = events_.back().seconds;
  Write(lines);
}

// A disk that fills up in the middle of a line: what is there of the round is taken back, so that
// the file ends with a whole line. (A device or a pipe cannot.)
void TraceFile::Write(const std::string& lines) {
  if (failed_) return;
  const Status status = WriteAll(descriptor_, lines);
  if (status.ok()) {
    written_bytes_ += static_cast<int64_t>(lines.size());
    return;
  }
  [[maybe_unused]] const int ignored = ftruncate(descriptor_, written_bytes_);
  Fail(status.message());
}

void TraceFile::Fail(const std::string& reason) {
  if (std::exchange(failed_, true)) return;
  console_.Note(fmt::format("skald: warning: the record in '{}' ends here: {}", path_, reason));
}

std::vector<std::string> TraceFile::TextsOf(const TraceEvent& event) const {
  std::vector<std::string> texts;
  for (const TokenId token : TokensOf(event))
    texts.emplace_back(model_->tokenizer().TokenBytes(token));
  return texts;
}

TraceHeader TraceHeaderOf(const std::string& command, const Model& model) {
  const ModelInfo& info = model.info();
  return {.program = fmt::format("skald {}", kVersion),
          .command = command,
          .numerics = kNumericsVersion,
          .started = UnixSeconds(),
          .model = info.name,
          .architecture = info.architecture,
          .weights = info.weights_type,
          .parameters = info.parameter_count};
}

TraceHeader TraceHeaderOf(const std::string& command, const Model& model, const Engine& engine,
                          const EngineOptions& options) {
  TraceHeader header = TraceHeaderOf(command, model);
  header.isa = engine.isa_name();
  header.threads = engine.threads();
  header.context = engine.context();
  header.max_running = engine.max_running();
  header.kv_type = KvTypesName(options.kv_types);
  header.speculation = SpeculationName(options.speculation.kind);
  return header;
}

}  // namespace skald::cli
