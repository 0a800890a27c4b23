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

// The prompt as text and as tokens, and what the text behind it is kept to.
struct Prompt {
  std::string text;
  std::vector<TokenId> ids;
  std::optional<Constraint> constraint = {};
};

// What the model made of the prompt.
struct Continuation {
  std::vector<TokenId> tokens;  // a final end token included
  std::string text;             // of them
  FinishReason reason = FinishReason::kStop;
  double score = 0;  // with beams
  const std::string* stop_string = nullptr;
};

// A finished run. Times are those of the engine's clock.
struct Outcome {
  std::vector<Continuation> continuations;  // the best first
  bool searched = false;                    // with beams
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0;  // until the first token was known
  double decode_seconds = 0;   // from then on
  uint64_t seed = 0;
  double load_seconds = 0;

  const Continuation& best() const { return continuations.front(); }
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
  const bool at_start = tokenizer.DecodeBytes(prompt.ids).empty();
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

// Reads a request to its end. Ctrl-C and a text that cannot be written cancel it.
class RunReader {
 public:
  RunReader(EventReader& events, Display& display, const Prompt& prompt)
      : events_(events), display_(display), prompt_(prompt) {}

  // `count` continuations come one after the other.
  Result<Outcome> ReadAll(int32_t count, const std::vector<std::string>& stop_strings) {
    outcome_.continuations.resize(static_cast<size_t>(count));
    TextEvent next;
    do {
      next = events_.Next();
      Take(next.event);
      // Unless it stood there before: the line of the terminal is free now.
      if (write_status_.ok() && EndsReading(next.event.kind))
        write_status_ = display_.Begin(prompt_.text);
      const auto index = static_cast<size_t>(next.event.sequence);
      Continuation& continuation = outcome_.continuations[index];
      continuation.text += next.text;
      if (next.stop_index >= 0) {
        continuation.stop_string = &stop_strings[static_cast<size_t>(next.stop_index)];
      }
      for (; write_status_.ok() && shown_ < index; ++shown_) write_status_ = display_.BeginNext();
      if (write_status_.ok()) write_status_ = display_.Add(next.text);
      if (!write_status_.ok()) events_.Cancel();
    } while (next.event.kind != EventKind::kFinished);
    RETURN_IF_ERROR(std::move(write_status_));
    RETURN_IF_ERROR(std::move(next.event.status));
    return std::move(outcome_);
  }

 private:
  static bool EndsReading(EventKind kind) {
    return kind == EventKind::kToken || kind == EventKind::kSequenceFinished ||
           kind == EventKind::kFinished;
  }

  void Take(const Event& event) {
    if (event.kind == EventKind::kQueued) queued_seconds_ = event.seconds;
    Continuation& continuation = outcome_.continuations[static_cast<size_t>(event.sequence)];
    if (event.kind == EventKind::kToken) {
      if (outcome_.best().tokens.empty())
        outcome_.prefill_seconds = event.seconds - queued_seconds_;
      continuation.tokens.push_back(event.token.token);
    }
    if (event.kind == EventKind::kSequenceFinished) {
      continuation.reason = event.reason;
      continuation.score = event.score;
    }
    if (event.kind == EventKind::kFinished) {
      const double seconds = event.seconds - queued_seconds_;
      if (outcome_.best().tokens.empty()) outcome_.prefill_seconds = seconds;
      outcome_.decode_seconds = seconds - outcome_.prefill_seconds;
    }
  }

  EventReader& events_;
  Display& display_;
  const Prompt& prompt_;
  Status write_status_;
  size_t shown_ = 0;  // continuation
  double queued_seconds_ = 0;
  Outcome outcome_;
};

Result<Outcome> Generate(const RunOptions& options, const Prompt& prompt,
                         const Tokenizer& tokenizer, Engine& engine, Console& console) {
  ASSIGN_OR_RETURN(SamplingParams sampling, SamplingFor(options.sampling, tokenizer));
  Request request{.prompt = prompt.ids, .sampling = std::move(sampling), .stop = {}};
  request.sampling.seed = options.sampling.seed.has_value() ? *options.sampling.seed : DrawSeed();
  request.stop.max_tokens = options.stop.max_tokens;
  request.stop.ignore_eos = options.stop.ignore_eos;
  request.beam_search = options.beams.params;
  request.n = options.beams.best;
  request.constraint = prompt.constraint;
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
  RunReader reader(events, display, prompt);
  ASSIGN_OR_RETURN(Outcome outcome, reader.ReadAll(request.n, options.stop.stop));
  RETURN_IF_ERROR(display.End());
  outcome.searched = request.beam_search.beams > 0;
  outcome.seed = request.sampling.seed;
  outcome.prompt_tokens = static_cast<int64_t>(prompt.ids.size());
  return outcome;
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
  json.Key("prefill_seconds").Double(outcome.prefill_seconds);
  json.Key("decode_seconds").Double(outcome.decode_seconds);
  json.Key("prefill_tokens_per_second")
      .Double(rate(outcome.prompt_tokens, outcome.prefill_seconds));
  json.Key("decode_tokens_per_second").Double(rate(generated - 1, outcome.decode_seconds));
  json.EndObject();
}

void WriteContinuation(const Continuation& continuation, JsonWriter& json) {
  json.Key("text").String(continuation.text);
  json.Key("tokens").BeginArray();
  for (const TokenId token : continuation.tokens) json.Int(token);
  json.EndArray();
  json.Key("finish_reason").String(FinishReasonName(continuation.reason));
  json.Key("stop_string");
  continuation.stop_string != nullptr ? json.String(*continuation.stop_string) : json.Null();
}

// Score and the texts behind the best one, for those who asked for beams.
void WriteBeams(const Outcome& outcome, JsonWriter& json) {
  json.Key("score").Double(outcome.best().score);
  json.Key("others").BeginArray();
  for (size_t i = 1; i < outcome.continuations.size(); ++i) {
    json.BeginObject();
    WriteContinuation(outcome.continuations[i], json);
    json.Key("score").Double(outcome.continuations[i].score).EndObject();
  }
  json.EndArray();
}

std::string ToJson(const Outcome& outcome, const Prompt& prompt, const ModelInfo& info,
                   const Engine& engine) {
  const auto generated = static_cast<int64_t>(outcome.best().tokens.size());
  JsonWriter json;
  json.BeginObject();
  json.Key("prompt").String(prompt.text);
  WriteContinuation(outcome.best(), json);
  if (outcome.searched) WriteBeams(outcome, json);
  json.Key("seed").Uint(outcome.seed);
  json.Key("usage").BeginObject();
  json.Key("prompt_tokens").Int(outcome.prompt_tokens);
  json.Key("completion_tokens").Int(generated);
  json.Key("total_tokens").Int(outcome.prompt_tokens + generated);
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
  return {.prompt_tokens = outcome.prompt_tokens,
          .completion_tokens = static_cast<int64_t>(outcome.best().tokens.size()),
          .prefill_seconds = outcome.prefill_seconds,
          .decode_seconds = outcome.decode_seconds,
          .finish_reason = std::string(FinishReasonName(outcome.best().reason)),
          .seed = outcome.seed};
}

std::string BeamLine(const Outcome& outcome, int32_t beams) {
  return fmt::format("prompt {} tokens | {} beams, {} tokens in {:.2f} s | score {:.4f} | stop: {}",
                     outcome.prompt_tokens, beams, outcome.best().tokens.size(),
                     outcome.prefill_seconds + outcome.decode_seconds, outcome.best().score,
                     FinishReasonName(outcome.best().reason));
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
  ASSIGN_OR_RETURN(prompt.constraint, ConstraintFor(grammar, model));
  ASSIGN_OR_RETURN(prompt.ids, EncodePrompt(tokenizer, prompt.text, options.prompt.encode));
  EngineOptions engine_options = ToEngineOptions(options.engine);
  ASSIGN_OR_RETURN(engine_options.speculation,
                   LoadSpeculation(options.speculation, environment, options.engine, console));
  ASSIGN_OR_RETURN(const EnginePlan plan, Engine::Plan(model, engine_options));
  MakeRoomForBeams(options.beams,
                   {.prompt = static_cast<int64_t>(prompt.ids.size()),
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
