#include "cli/quantize_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/model_source.h"
#include "cli/output_file.h"
#include "skald/quantize.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M
)";

constexpr double kRedrawSeconds = 0.1;

std::string TypesText() {
  std::string text;
  for (const std::string_view type : QuantizeTypes()) {
    text += (text.empty() ? "" : ", ") + std::string(type);
  }
  return text;
}

Status CheckTarget(const std::string& source, const std::string& target, const Console& console) {
  std::error_code error;  // what cannot be compared is not the same
  if (std::filesystem::equivalent(source, target, error)) {
    return Status(
        ErrorCode::kInvalidArgument,
        fmt::format("{} would be replaced by what is made of it; name another file", source));
  }
  if (target == "-" && console.terminals().output) {
    return Status(ErrorCode::kInvalidArgument,
                  "-: refusing to write a model to a terminal; redirect stdout");
  }
  return Ok();
}

// The line on the terminal while it works.
class ProgressBar {
 public:
  explicit ProgressBar(Console& console) : console_(console) {}
  ~ProgressBar() {
    if (drawn_at_ > 0) console_.Decorate(kEraseLine);
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Draw(int64_t done, int64_t total) {
    const double now = watch_.Seconds();
    if (now - drawn_at_ < kRedrawSeconds) return;
    drawn_at_ = now;
    const Progress progress{"quantizing", done, total,
                            fmt::format("{} of {}", Bytes(done), Bytes(total))};
    console_.Decorate(fmt::format("{}{}", kEraseLine, ProgressLine(progress, TerminalColumns())));
  }

 private:
  Console& console_;
  const Stopwatch watch_;
  double drawn_at_ = 0;  // seconds on the watch; 0 = not yet
};

Result<QuantizeReport> QuantizeInto(const std::string& source,
                                    const QuantizeCommandOptions& options, OutputFile& file,
                                    Console& console) {
  const InterruptScope interrupt;
  ProgressBar bar(console);
  const auto stop = [] { return InterruptScope::Requested(); };
  return QuantizeModel(
      source,
      {.type = *options.type,
       .allow_requantize = options.allow_requantize,
       .threads = options.threads,
       .progress = [&](int64_t done, int64_t total) { bar.Draw(done, total); },
       .should_stop = StopCheck(stop)},
      [&](std::span<const std::byte> bytes) {
        return file.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      });
}

}  // namespace

void AddQuantizeCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"quantize", "Write a model anew with its weights in fewer bits", kExamples});
  const auto options = std::make_shared<QuantizeCommandOptions>();
  AddText(verb, {"source", "the model, in F16, BF16 or F32"}, kModelType, options->source)
      .Require();
  AddText(verb, {"target", "where to write; - is stdout"}, kFileType, options->target).Require();
  AddText(verb, {"type", "one of " + TypesText()}, kTextType, options->type).Require();
  AddSwitch(verb, {"--allow-requantize", "also weights that are quantized already"},
            options->allow_requantize, true);
  AddInt<int>(verb, {"-t,--threads", "threads; 0 = all cores (default 0)"}, options->threads,
              {.min = 0, .max = ThreadPool::kMaxThreads});
  AddConsoleArgs(verb, options->console);
  ChooseWhenParsed(verb, options, QuantizeToFile, &chosen);
}

Status QuantizeToFile(const QuantizeCommandOptions& options, const Environment& environment,
                      Console& console) {
  console.Configure(options.console);
  ASSIGN_OR_RETURN(const std::string source, LocateModel(environment, *options.source, console));
  RETURN_IF_ERROR(CheckTarget(source, *options.target, console));
  const Stopwatch watch;
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(*options.target));
  ASSIGN_OR_RETURN(const QuantizeReport report, QuantizeInto(source, options, file, console));
  RETURN_IF_ERROR(file.Commit());
  std::string note = fmt::format("{} of {}: {} tensors quantized, {} copied, in {}",
                                 Bytes(report.bytes), Bytes(report.source_bytes), report.quantized,
                                 report.copied, Duration(watch.Seconds()));
  if (report.widened > 0) {
    note += fmt::format("; {} took a larger type, because their rows are no multiple of the block",
                        report.widened);
  }
  console.Note(note);
  return Ok();
}

}  // namespace skald::cli
