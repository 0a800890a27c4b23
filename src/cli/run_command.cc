#include "cli/run_command.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "cli/event_reader.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/utf8.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/text_sink.h"
#include "skald/transcript.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald run                                          a tale from the bundled model
  skald run "The fox and the lantern" --seed 7       the same tale every time
  skald run model.gguf "Once" -n 200 --temp 0        greedy, 200 tokens
  cat prompt.txt | skald run -m model.gguf -q > out.txt
  skald run -p "Once" --stop "." --json | jq -r .text
  skald run -p "A day: " --no-echo --regex "(Mon|Tues|Fri)day"
)";

// What the bundled model continues when nobody says anything.
constexpr const char* kDefaultPrompt = "Once upon a time";

// The prompt as text, and what is asked of the engine: as tokens, with all that the flags say.
struct Prompt {
  std::string text;
  Request request = {};
};

// A finished run.
struct Outcome {
  Transcript answer;  // its sequences the best first
  const std::vector<std::string>& stop_strings;
  bool searched = false;  // with beams
  uint64_t seed = 0;
  double load_seconds = 0;

  const TranscriptSequence& best() const { return answer.sequences.front(); }
};

// 32 bits: as good as 64 for choosing a tale, and a person can type it again.
uint64_t DrawSeed() {
  std::random_device device;
  return device();
}

Result<std::string> PromptText(const RunOptions& options, const Terminals& terminals) {
  ASSIGN_OR_RETURN(std::optional<std::string> text, ReadText(options.prompt, terminals));
  if (text.has_value()) return *std::move(text);
  if (!options.model.model.has_value()) return std::string(kDefaultPrompt);
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("no prompt: give one as argument, with -p, with -f, or on stdin; for a "
                            "conversation: skald chat -m {}",
                            *options.model.model));
}

Result<std::vector<TokenId>> EncodePrompt(const Tokenizer& tokenizer, const std::string& text,
                                          const EncodeOptions& options) {
  ASSIGN_OR_RETURN(std::vector<TokenId> ids, tokenizer.Encode(text, options));
  if (ids.empty())
    return Status(ErrorCode::kInvalidArgument,
                  "the prompt is empty, and no beginning-of-sequence token stands in for it "
                  "(the model has none, or --no-bos)");
  return ids;
}

// The text continues the prompt. SentencePiece's leading space is dropped only if no text of the
// prompt stands before it.
DecodeOptions ContinuationOf(const Tokenizer& tokenizer, const Prompt& prompt) {
  const bool at_start = tokenizer.DecodeBytes(prompt.request.prompt).empty();
  return {.from = at_start ? DecodeFrom::kStart : DecodeFrom::kContinuation};
}

// Shows text as it comes, or keeps it for the JSON object.
class Display {
 public:
  Display(const RunOptions& options, Console& console) : options_(options), console_(console) {}

  // Shows the prompt; at the first call only.
  Status Begin(const std::string& prompt) {
    if (std::exchange(has_begun_, true)) return Ok();
    prompt_ = prompt;
    return ShowPrompt();
  }

  // Another continuation of the prompt, behind an empty line.
  Status BeginNext() {
    RETURN_IF_ERROR(Add(last_ == '\n' ? "\n" : "\n\n"));
    return ShowPrompt();
  }

  Status Add(const std::string& text) {
    if (!Streams() || text.empty()) return Ok();
    last_ = text.back();
    return console_.WriteText(text);
  }

  // Ends the line on the screen. A file or pipe gets exactly the text; if its text passed no
  // terminal, the statistics still start on a line of their own where `tee` shows both.
  Status End() {
    if (!Streams() || last_ == '\n') return Ok();
    if (console_.terminals().output) return console_.Write("\n");
    console_.Decorate("\n");
    return Ok();
  }

 private:
  bool Streams() const { return options_.output.form == OutputForm::kText; }

  Status ShowPrompt() {
    if (!Streams() || options_.echo == Echo::kNone || prompt_.empty()) return Ok();
    last_ = prompt_.back();
    return console_.WriteDim(ValidUtf8(prompt_));
  }

  const RunOptions& options_;
  Console& console_;
  std::string prompt_;
  bool has_begun_ = false;
  char last_ = '\n';
};

// From here on nothing is said of how much of the prompt is read.
bool EndsReading(const Event& event) {
  return event.Is<TokenEvent>() || event.Is<SequenceFinishedEvent>() || event.Is<FinishedEvent>();
}

// Reads a request to its end; its sequences come one after the other. Ctrl-C and a text that cannot
// be written cancel it.
Status ReadAll(EventReader& events, const Prompt& prompt, Display& display, Transcript* answer) {
  Status written;
  int32_t shown = 0;  // sequence
  while (!answer->end) {
    const TextEvent next = events.Next();
    answer->Add(next);
    // Unless it stood there before: the line of the terminal is free now.
    if (written.ok() && EndsReading(next.event)) written = display.Begin(prompt.text);
    for (; written.ok() && shown < next.event.sequence; ++shown) written = display.BeginNext();
    if (written.ok()) written = display.Add(next.text);
    if (!written.ok()) events.Cancel();
  }
  RETURN_IF_ERROR(std::move(written));
  return answer->end->status;
}

// But for the prompt, and what the text is kept to.
Result<Request> RequestOf(const RunOptions& options, const Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(SamplingParams sampling, SamplingFor(options.sampling, tokenizer));
  Request request{.prompt = {}, .sampling = std::move(sampling), .stop = {}};
  request.sampling.seed = options.sampling.seed.has_value() ? *options.sampling.seed : DrawSeed();
  request.stop.max_tokens = options.stop.max_tokens;
  request.stop.ignore_eos = options.stop.ignore_eos;
  request.beam_search = options.beams.params;
  request.n = options.beams.best;
  return request;
}

Result<Outcome> Generate(const RunOptions& options, const Prompt& prompt,
                         const Tokenizer& tokenizer, Engine& engine, Console& console) {
  const Request& request = prompt.request;
  const InterruptScope interrupt;
  EventReader events(engine, console);
  ASSIGN_OR_RETURN(const std::shared_ptr<TextSink> sink,
                   TextSink::Create(tokenizer, request,
                                    {.stop_strings = options.stop.stop,
                                     .decode = ContinuationOf(tokenizer, prompt),
                                     .on_ready = events.on_ready()}));
  Display display(options, console);
  // The prompt comes at once, unless a terminal's line is needed to say how much of it is read.
  if (!EventReader::ShowsProgress(console)) RETURN_IF_ERROR(display.Begin(prompt.text));
  RETURN_IF_ERROR(events.Submit(request, sink));
  Transcript answer(request, {.logprobs = false, .draws = options.receipt.path.has_value()});
  RETURN_IF_ERROR(ReadAll(events, prompt, display, &answer));
  RETURN_IF_ERROR(display.End());
  return Outcome{.answer = std::move(answer),
                 .stop_strings = options.stop.stop,
                 .searched = request.beam_search.beams > 0,
                 .seed = request.sampling.seed};
}

void WriteTimings(const Outcome& outcome, JsonWriter& json) {
  const auto rate = [&outcome](int64_t count, double seconds) {
    // No measurement is null, not 0. Beams tell all tokens at once.
    return count > 0 && seconds > 0 && !outcome.searched ? static_cast<double>(count) / seconds
                                                         : std::numeric_limits<double>::quiet_NaN();
  };
  const auto generated = static_cast<int64_t>(outcome.best().tokens.size());
  json.Key("timings").BeginObject();
  json.Key("load_seconds").Double(outcome.load_seconds);
  json.Key("prefill_seconds").Double(outcome.answer.prefill_seconds());
  json.Key("decode_seconds").Double(outcome.answer.decode_seconds());
  json.Key("prefill_tokens_per_second")
      .Double(rate(outcome.answer.prompt_tokens, outcome.answer.prefill_seconds()));
  json.Key("decode_tokens_per_second").Double(rate(generated - 1, outcome.answer.decode_seconds()));
  json.EndObject();
}

void WriteSequence(const Outcome& outcome, const TranscriptSequence& sequence, JsonWriter& json) {
  json.Key("text").String(sequence.text);
  json.Key("tokens").BeginArray();
  for (const TokenId token : sequence.tokens) json.Int(token);
  json.EndArray();
  json.Key("finish_reason").String(FinishReasonName(*sequence.reason));
  json.Key("stop_string");
  if (sequence.stop_index < 0) {
    json.Null();
  } else {
    json.String(outcome.stop_strings[static_cast<size_t>(sequence.stop_index)]);
  }
}

// Score and the texts behind the best one, for those who asked for beams.
void WriteBeams(const Outcome& outcome, JsonWriter& json) {
  json.Key("score").Double(outcome.best().score);
  json.Key("others").BeginArray();
  for (size_t i = 1; i < outcome.answer.sequences.size(); ++i) {
    const TranscriptSequence& other = outcome.answer.sequences[i];
    json.BeginObject();
    WriteSequence(outcome, other, json);
    json.Key("score").Double(other.score).EndObject();
  }
  json.EndArray();
}

std::string ToJson(const Outcome& outcome, const Prompt& prompt, const ModelInfo& info,
                   const Engine& engine) {
  const auto generated = static_cast<int64_t>(outcome.best().tokens.size());
  JsonWriter json;
  json.BeginObject();
  json.Key("prompt").String(prompt.text);
  WriteSequence(outcome, outcome.best(), json);
  if (outcome.searched) WriteBeams(outcome, json);
  json.Key("seed").Uint(outcome.seed);
  json.Key("usage").BeginObject();
  json.Key("prompt_tokens").Int(outcome.answer.prompt_tokens);
  json.Key("completion_tokens").Int(generated);
  json.Key("total_tokens").Int(outcome.answer.prompt_tokens + generated);
  json.EndObject();
  WriteTimings(outcome, json);
  json.Key("model").BeginObject();
  json.Key("name").String(info.name).Key("path").String(info.path);
  json.Key("architecture").String(info.architecture).Key("type").String(info.weights_type);
  json.Key("parameters").Int(info.parameter_count);
  json.EndObject();
  json.Key("engine").BeginObject();
  json.Key("isa").String(engine.isa_name()).Key("threads").Int(engine.threads());
  json.Key("context").Int(engine.context()).Key("kv_bytes").Int(engine.kv_bytes());
  json.Key("state_bytes").Int(engine.state_bytes());
  json.EndObject();
  json.Key("numerics_version").Int(kNumericsVersion);
  json.EndObject();
  return json.Take() + '\n';
}

RunStats StatsOf(const Outcome& outcome) {
  return {.prompt_tokens = outcome.answer.prompt_tokens,
          .completion_tokens = static_cast<int64_t>(outcome.best().tokens.size()),
          .prefill_seconds = outcome.answer.prefill_seconds(),
          .decode_seconds = outcome.answer.decode_seconds(),
          .finish_reason = std::string(FinishReasonName(*outcome.best().reason)),
          .seed = outcome.seed};
}

std::string BeamLine(const Outcome& outcome, int32_t beams) {
  return fmt::format("prompt {} tokens | {} beams, {} tokens in {:.2f} s | score {:.4f} | stop: {}",
                     outcome.answer.prompt_tokens, beams, outcome.best().tokens.size(),
                     outcome.answer.prefill_seconds() + outcome.answer.decode_seconds(),
                     outcome.best().score, FinishReasonName(*outcome.best().reason));
}

// Everything the flags alone can get wrong, before a model is loaded for minutes.
Status CheckFlags(const RunOptions& options) {
  RETURN_IF_ERROR(Validate(options.sampling.params, std::numeric_limits<TokenId>::max()));
  RETURN_IF_ERROR(CheckBeamArgs(options.beams));
  return StopMatcher::Create(options.stop.stop).status();
}

}  // namespace

void AddRunCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"run", "Generate text from a prompt", kExamples});
  const auto options = std::make_shared<RunOptions>();
  AddText(verb, {"model", "the model, as -m names it; a text that names none is the prompt"},
          kModelType, options->words.first);
  AddText(verb, {"prompt", "the prompt; - reads it from stdin"}, kTextType, options->words.second);
  AddTextFlags(verb, options->prompt, "prompt");
  AddModelArgs(verb, options->model);
  AddStopArgs(verb, options->stop);
  AddSwitch(verb, {"--no-echo", "print only what the model adds, not the prompt"}, options->echo,
            Echo::kNone);
  AddSamplingArgs(verb, options->sampling);
  AddEngineArgs(verb, options->engine);
  AddSpeculationArgs(verb, options->speculation);
  AddBeamArgs(verb, options->beams);
  AddConstraintArgs(verb, options->constraint);
  AddReceiptArgs(verb, options->receipt);
  AddTraceArgs(verb, options->trace);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Run, &chosen);
}

Status Run(const RunOptions& given, const Environment& environment, Console& console) {
  RunOptions options = given;
  console.Configure(options.output.console);
  RETURN_IF_ERROR(CheckFlags(options));
  ASSIGN_OR_RETURN(const std::optional<Grammar> grammar, ReadGrammar(options.constraint));
  RETURN_IF_ERROR(PlaceWords(options.words, environment, &options.model, &options.prompt));
  Prompt prompt;
  ASSIGN_OR_RETURN(prompt.text, PromptText(options, console.terminals()));
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const auto trace, TraceFile::Create(options.trace, console));

  const Stopwatch watch;
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  const double load_seconds = watch.Seconds();
  const Tokenizer& tokenizer = model.tokenizer();
  ASSIGN_OR_RETURN(prompt.request, RequestOf(options, tokenizer));
  ASSIGN_OR_RETURN(prompt.request.constraint, ConstraintFor(grammar, model));
  ASSIGN_OR_RETURN(prompt.request.prompt,
                   EncodePrompt(tokenizer, prompt.text, options.prompt.encode));
  EngineOptions engine_options = ToEngineOptions(options.engine);
  ASSIGN_OR_RETURN(engine_options.speculation,
                   LoadSpeculation(options.speculation, environment, options.engine, console));
  RETURN_IF_ERROR(CheckReceiptArgs(options.receipt, prompt.request, engine_options.speculation));
  ASSIGN_OR_RETURN(const EnginePlan plan, Engine::Plan(model, engine_options));
  MakeRoomForBeams(options.beams,
                   {.prompt = static_cast<int64_t>(prompt.request.prompt.size()),
                    .max_tokens = options.stop.max_tokens,
                    .context = plan.context},
                   &engine_options);
  if (trace) engine_options.trace = trace->ring();
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, engine_options));
  if (trace) trace->Start(TraceHeaderOf("run", model, engine, engine_options), model);
  WarnOfContext(model.info(), engine.context(), console);
  WarnOfSpeculation(model.info(), engine_options.speculation, console);
  console.Detail(fmt::format("engine: {}, {} threads, context {}, {} of KV cache and states",
                             engine.isa_name(), engine.threads(), engine.context(),
                             Bytes(engine.kv_bytes() + engine.state_bytes())));

  ASSIGN_OR_RETURN(Outcome outcome, Generate(options, prompt, tokenizer, engine, console));
  outcome.load_seconds = load_seconds;
  RETURN_IF_ERROR(WriteReceipt(options.receipt, model,
                               {.request = prompt.request,
                                .output = outcome.best().tokens,
                                .draws = outcome.best().draws,
                                .kv_types = engine_options.kv_types,
                                .hashes_only = options.receipt.hashes_only}));
  if (options.output.form == OutputForm::kJson)
    RETURN_IF_ERROR(console.Write(ToJson(outcome, prompt, model.info(), engine)));
  console.Note(outcome.searched ? BeamLine(outcome, options.beams.params.beams)
                                : StatsLine(StatsOf(outcome)));
  if (engine_options.speculation.kind != Speculation::kOff) {
    console.Detail(SpeculationLine(engine.Stats()));
  }
  if (InterruptScope::Requested()) return Status(ErrorCode::kCancelled, "interrupted");
  return Ok();
}

}  // namespace skald::cli
