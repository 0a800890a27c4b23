#include "cli/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/output_file.h"
#include "cli/table.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald run "Once upon a time" -n 20 --trace run.jsonl
  skald trace summary run.jsonl
  skald trace convert --perfetto run.jsonl run.json
  skald trace convert --svg run.jsonl run.svg

run.json opens in https://ui.perfetto.dev and speedscope, run.svg is a picture of the schedule. The
lines of a record: docs/trace.md.
)";

constexpr size_t kBlockBytes = size_t{1} << 16;
// Of what is written at a time.
constexpr size_t kPartBytes = size_t{1} << 16;

// The lines of a file, one after the other. Memory: a block, and the longest line.
class Lines {
 public:
  explicit Lines(const File& file) : file_(file) {}

  // The next line without its newline; none at the end. Valid until the next call.
  Result<std::optional<std::string_view>> Next() {
    ++number_;
    text_.erase(0, next_);
    size_t end = text_.find('\n');
    while (end == std::string::npos && offset_ < file_.size()) {
      if (text_.size() > kTraceLineMax)
        return Status(ErrorCode::kInvalidArgument,
                      fmt::format("longer than {}, no line of a record", Bytes(kTraceLineMax)));
      const size_t before = text_.size();
      RETURN_IF_ERROR(ReadBlock());
      end = text_.find('\n', before);
    }
    is_whole_ = end != std::string::npos;
    next_ = is_whole_ ? end + 1 : text_.size();
    if (!is_whole_ && text_.empty()) return std::optional<std::string_view>();
    return std::optional(std::string_view(text_).substr(0, is_whole_ ? end : text_.size()));
  }

  int64_t number() const { return number_; }
  // Whether the line ended with a newline.
  bool is_whole() const { return is_whole_; }

 private:
  Status ReadBlock() {
    const size_t count = std::min<uint64_t>(kBlockBytes, file_.size() - offset_);
    const size_t before = text_.size();
    text_.resize(before + count);
    RETURN_IF_ERROR(
        file_.ReadAt(offset_, std::as_writable_bytes(std::span(text_)).subspan(before)));
    offset_ += count;
    return Ok();
  }

  const File& file_;
  uint64_t offset_ = 0;
  std::string text_;
  size_t next_ = 0;  // in text_: behind the line
  int64_t number_ = 0;
  bool is_whole_ = false;
};

Status ReadLines(Lines& lines, const std::function<Status(const TraceHeader&)>& on_header,
                 const std::function<Status(const TraceRecord&)>& on_record) {
  ASSIGN_OR_RETURN(std::optional<std::string_view> line, lines.Next());
  if (!line) return Status(ErrorCode::kInvalidArgument, "the file is empty");
  ASSIGN_OR_RETURN(const TraceHeader header, ParseTraceHeader(*line));
  RETURN_IF_ERROR(on_header(header));
  while (true) {
    ASSIGN_OR_RETURN(line, lines.Next());
    if (!line) return Ok();
    const Result<std::optional<TraceRecord>> record = ParseTraceLine(*line);
    // Somebody is writing it still, or was ended in the middle of it.
    if (!record.ok() && !lines.is_whole()) return Ok();
    RETURN_IF_ERROR(record.status());
    if (*record) RETURN_IF_ERROR(on_record(**record));
  }
}

Status ConvertToPerfetto(const TraceCommandOptions& options, OutputFile& out) {
  std::optional<PerfettoTrace> drawing;
  std::string text;
  const auto draw = [&](const TraceRecord& record) {
    RETURN_IF_ERROR(drawing->Add(record));
    text += drawing->TakePart();
    return text.size() < kPartBytes ? Ok() : out.Write(std::exchange(text, {}));
  };
  const auto begin = [&](const TraceHeader& header) {
    drawing.emplace(header);
    return Ok();
  };
  RETURN_IF_ERROR(ReadTrace(*options.in, begin, draw));
  return out.Write(text + drawing->Finish());
}

Status ConvertToSvg(const TraceCommandOptions& options, OutputFile& out) {
  ScheduleFigure drawing(fmt::format("skald trace convert --svg {} {}", *options.in, *options.out));
  RETURN_IF_ERROR(ReadTrace(
      *options.in, [](const TraceHeader&) { return Ok(); },
      [&](const TraceRecord& record) {
        drawing.Add(record);
        return Ok();
      }));
  return out.Write(drawing.Finish());
}

Status Convert(const TraceCommandOptions& options) {
  if (options.form == TraceForm::kNone)
    return Status(ErrorCode::kInvalidArgument, "into what form? there are --perfetto and --svg");
  if (!options.out)
    return Status(ErrorCode::kInvalidArgument,
                  "two files: skald trace convert --perfetto IN OUT, or --svg IN OUT");
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(*options.out));
  RETURN_IF_ERROR(options.form == TraceForm::kSvg ? ConvertToSvg(options, out)
                                                  : ConvertToPerfetto(options, out));
  return out.Commit();
}

Status Summarize(const TraceCommandOptions& options, Console& console) {
  if (options.out || options.form != TraceForm::kNone)
    return Status(ErrorCode::kInvalidArgument,
                  "a summary is of one file: skald trace summary FILE");
  TraceSummary summary;
  TraceHeader header;
  RETURN_IF_ERROR(ReadTrace(
      *options.in,
      [&](const TraceHeader& found) {
        header = found;
        return Ok();
      },
      [&](const TraceRecord& record) { return summary.Add(record); }));
  const RunSummary run = summary.Summary();
  return console.Write(options.output.form == OutputForm::kJson ? SummaryJson(header, run)
                                                                : SummaryText(header, run));
}

std::string DurationOrDash(double seconds) { return std::isnan(seconds) ? "-" : Duration(seconds); }

std::string EndWord(const RequestSummary& request) {
  return request.end ? std::string(TraceEndName(*request.end)) : "open";
}

}  // namespace

void AddTraceCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"trace", "Draw the record of a run, or sum it up", kExamples});
  const auto options = std::make_shared<TraceCommandOptions>();
  constexpr std::array<Choice<TraceAction>, 2> kActions = {
      {{"convert", TraceAction::kConvert}, {"summary", TraceAction::kSummary}}};
  AddChoice(verb, {"action", "convert: into another form; summary: a line for each request"},
            options->action, kActions)
      .Require();
  AddText(verb, {"in", "the record: what --trace wrote"}, kFileType, options->in).Require();
  AddText(verb, {"out", "the file that convert writes; - is stdout"}, kFileType, options->out);
  AddSwitch(verb, {"--perfetto", "convert into Chrome's trace event format"}, options->form,
            TraceForm::kPerfetto);
  AddSwitch(verb, {"--svg", "convert into a picture: which sequence computed what in which step"},
            options->form, TraceForm::kSvg);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, TraceVerb, &chosen);
}

Status TraceVerb(const TraceCommandOptions& options, const Environment&, Console& console) {
  console.Configure(options.output.console);
  return options.action == TraceAction::kConvert ? Convert(options) : Summarize(options, console);
}

Status ReadTrace(const std::string& path,
                 const std::function<Status(const TraceHeader&)>& on_header,
                 const std::function<Status(const TraceRecord&)>& on_record) {
  ASSIGN_OR_RETURN(const File file, File::Open(path));
  Lines lines(file);
  return ReadLines(lines, on_header, on_record)
      .WithContext(fmt::format("{}: line {}", path, std::max<int64_t>(1, lines.number())));
}

std::string SummaryText(const TraceHeader& header, const RunSummary& run) {
  std::string text = fmt::format("{}, {}, {} threads, {}\n", header.program, header.model,
                                 header.threads, header.cpu);
  text += fmt::format(
      "{} request{}, {} tokens in {}; {} steps of {} in the mean, {} rows, {} of prompts; {} "
      "preemptions\n",
      run.request_count, run.request_count == 1 ? "" : "s", run.output_tokens,
      Duration(run.seconds), run.steps,
      run.steps > 0 ? Duration(run.step_seconds / static_cast<double>(run.steps)) : "-", run.rows,
      run.prompt_rows, run.preemptions);
  if (run.guesses > 0)
    text += fmt::format("{} of {} guesses kept\n", run.kept_guesses, run.guesses);
  if (run.lost_events > 0) text += fmt::format("{} events are lost\n", run.lost_events);
  std::vector<Align> columns(11, Align::kRight);
  columns.back() = Align::kLeft;
  Table table(columns);
  table.Add({"request", "prompt", "cached", "computed", "tokens", "queue", "TTFT", "TBT mean",
             "TBT max", "preempted", "end"});
  for (const RequestSummary& request : run.requests) {
    table.Add({fmt::format("{}", request.request), fmt::format("{}", request.prompt_tokens),
               fmt::format("{}", request.cached_tokens), fmt::format("{}", request.computed_tokens),
               fmt::format("{}", request.output_tokens), DurationOrDash(request.queue_seconds),
               DurationOrDash(request.ttft_seconds), DurationOrDash(request.mean_tbt_seconds),
               DurationOrDash(request.max_tbt_seconds), fmt::format("{}", request.preemptions),
               EndWord(request)});
  }
  text += run.requests.empty() ? "" : "\n" + table.Text();
  const int64_t hidden = run.request_count - std::ssize(run.requests);
  return hidden > 0 ? text + fmt::format("and {} more\n", hidden) : text;
}

std::string SummaryJson(const TraceHeader& header, const RunSummary& run) {
  JsonWriter json;
  json.BeginObject().Key("program").String(header.program).Key("model").String(header.model);
  json.Key("requests_in_all").Int(run.request_count).Key("tokens").Int(run.output_tokens);
  json.Key("steps").Int(run.steps).Key("rows").Int(run.rows);
  json.Key("prompt_rows").Int(run.prompt_rows).Key("preemptions").Int(run.preemptions);
  json.Key("guesses").Int(run.guesses).Key("kept_guesses").Int(run.kept_guesses);
  json.Key("lost_events").Int(run.lost_events).Key("step_seconds").Double(run.step_seconds);
  json.Key("seconds").Double(run.seconds).Key("requests").BeginArray();
  for (const RequestSummary& request : run.requests) {
    json.BeginObject().Key("request").Uint(request.request);
    json.Key("prompt_tokens").Int(request.prompt_tokens);
    json.Key("cached_tokens").Int(request.cached_tokens);
    json.Key("computed_tokens").Int(request.computed_tokens);
    json.Key("tokens").Int(request.output_tokens);
    json.Key("queue_seconds").Double(request.queue_seconds);
    json.Key("ttft_seconds").Double(request.ttft_seconds);
    json.Key("mean_tbt_seconds").Double(request.mean_tbt_seconds);
    json.Key("max_tbt_seconds").Double(request.max_tbt_seconds);
    json.Key("seconds").Double(request.seconds);
    json.Key("preemptions").Int(request.preemptions).Key("end").String(EndWord(request));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace skald::cli
