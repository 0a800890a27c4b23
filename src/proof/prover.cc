#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "engine/ask.h"
#include "proof/row_recorder.h"
#include "skald/proof.h"
#include "skald/transcript.h"

namespace skald {
namespace {

using proof::AnswerBits;
using proof::RowRecorder;

// Events that a question may be ahead of its reader: a few tokens, then it is paused, and gives
// its pages up if another request waits for them.
constexpr int64_t kFewEvents = 8;

// Reads on, up to the end or until there are so many tokens.
Status Read(EventQueue& events, Transcript* answer,
            int64_t tokens = std::numeric_limits<int64_t>::max()) {
  while (!answer->end && answer->output_tokens < tokens) answer->Add(events.Next());
  return answer->end ? answer->end->status : Ok();
}

Request RequestOf(const ProofQuestion& question) {
  return {.prompt = question.prompt,
          .sampling = question.sampling,
          .stop = {.max_tokens = question.max_tokens, .ignore_eos = true}};
}

// Another question: the same tokens in another order, fewer of them, another draw.
Request OtherRequest(const ProofQuestion& question, size_t number) {
  Request other = RequestOf(question);
  std::vector<TokenId>& prompt = other.prompt;
  const size_t first = prompt.size() * number / 9 % prompt.size();
  std::rotate(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(first), prompt.end());
  std::reverse(prompt.begin(), prompt.end());
  prompt.resize(prompt.size() > number ? prompt.size() - number : 1);
  other.sampling.seed += number;
  return other;
}

// The requests that compute in the same steps. They are cancelled when nobody asks any more.
class Crowd {
 public:
  explicit Crowd(Engine& engine) : engine_(engine) {}
  ~Crowd() {
    for (const RequestId id : ids_) engine_.Cancel(id);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  Status Add(Request request) {
    const auto events = std::make_shared<EventQueue>(4 * request.stop.max_tokens);
    ASSIGN_OR_RETURN(const RequestId id, engine_.Submit(std::move(request), events));
    ids_.push_back(id);
    events_.push_back(events);
    return Ok();
  }

  Status WaitForFirst() {
    for (;;) {
      const Event event = events_.front()->Next();
      if (const auto* end = event.As<FinishedEvent>()) return end->status;
    }
  }

 private:
  Engine& engine_;
  std::vector<RequestId> ids_;
  std::vector<std::shared_ptr<EventQueue>> events_;
};

// What happens before the question is asked.
Status Prepare(ProofSetting setting, const ProofQuestion& question, Engine& engine, Crowd* crowd) {
  if (setting == ProofSetting::kCached) {
    return engine.Generate(RequestOf(question), [](const TokenEvent&) { return true; }).status();
  }
  if (setting != ProofSetting::kCrowded) return Ok();
  for (size_t number = 1; number < static_cast<size_t>(engine.max_running()); ++number) {
    RETURN_IF_ERROR(crowd->Add(OtherRequest(question, number)));
  }
  return Ok();
}

// A rival that needs all pages there are. Nobody reads the question's tokens meanwhile: it is
// paused and gives way.
Status TakePages(const ProofQuestion& question, const Engine& engine, Crowd* crowd) {
  Request rival = OtherRequest(question, 1);
  rival.priority = 1;
  rival.stop.max_tokens = 1;
  const auto length = static_cast<size_t>(engine.context()) - 1;
  while (rival.prompt.size() < length) rival.prompt.push_back(question.prompt.front());
  RETURN_IF_ERROR(crowd->Add(std::move(rival)));
  return crowd->WaitForFirst();
}

std::string Of(int64_t part, int64_t all, std::string_view what) {
  return std::to_string(part) + " of " + std::to_string(all) + " " + std::string(what);
}

std::string NoteOf(ProofSetting setting, const ProofQuestion& question, const Transcript& answer,
                   const Engine& engine) {
  switch (setting) {
    case ProofSetting::kAlone: return "";
    case ProofSetting::kCrowded:
      return std::to_string(engine.max_running() - 1) + " others in the same steps";
    case ProofSetting::kPreempted:
      return "gave its pages away, times: " +
             std::to_string(engine::StatsWhenIdle(engine).preemptions);
    case ProofSetting::kCached:
      return Of(answer.cached_tokens, static_cast<int64_t>(question.prompt.size()),
                "prompt tokens from the cache");
    case ProofSetting::kSpeculative: {
      const EngineStats stats = engine::StatsWhenIdle(engine);
      return Of(stats.draft_tokens_accepted, stats.draft_tokens, "guesses kept");
    }
    case ProofSetting::kRestarted: return "the model loaded again";
  }
  return "";
}

}  // namespace

struct Prover::State {
  Model model;
  ProofQuestion question;
  std::optional<AnswerBits> first = std::nullopt;

  Result<Transcript> Ask(ProofSetting setting, Engine& engine,
                         std::shared_ptr<RowRecorder> recorder);
  Result<ProofRow> Compare(const ProofCase& way, Engine& engine);
};

Prover::Prover(std::unique_ptr<State> state) : state_(std::move(state)) {}
Prover::~Prover() = default;
Prover::Prover(Prover&&) noexcept = default;
Prover& Prover::operator=(Prover&&) noexcept = default;

const std::vector<TokenId>& Prover::answer() const { return state_->first->tokens; }

Result<Prover> Prover::Create(const Model& model, ProofQuestion question) {
  if (!model.info().generates) {
    return Status(ErrorCode::kUnsupported,
                  "this model was made to embed or to rank texts: it draws no tokens to compare");
  }
  if (question.prompt.empty()) return Status(ErrorCode::kInvalidArgument, "the prompt is empty");
  if (question.max_tokens < 1 || question.max_tokens > kMaxProofTokens) {
    return Status(ErrorCode::kInvalidArgument,
                  "the answer has " + std::to_string(question.max_tokens) +
                      " tokens, expected 1 to " + std::to_string(kMaxProofTokens));
  }
  return Prover(std::make_unique<State>(State{model, std::move(question)}));
}

Result<Transcript> Prover::State::Ask(ProofSetting setting, Engine& engine,
                                      std::shared_ptr<RowRecorder> recorder) {
  Crowd crowd(engine);
  RETURN_IF_ERROR(Prepare(setting, question, engine, &crowd));
  Request request = RequestOf(question);
  // Shared: the engine may still compute a row of a question that somebody has given up.
  request.logit_tap = [recorder](int32_t, int64_t index, std::span<const float> logits) {
    recorder->See(index, logits);
  };
  const bool gives_way = setting == ProofSetting::kPreempted;
  const auto events =
      std::make_shared<EventQueue>(gives_way ? kFewEvents : 4 * question.max_tokens + kFewEvents);
  Transcript answer(request, {.text = false, .logprobs = false});
  RETURN_IF_ERROR(engine.Submit(std::move(request), events).status());
  if (gives_way) {
    RETURN_IF_ERROR(Read(*events, &answer, 1));  // not before it has pages to give
    RETURN_IF_ERROR(TakePages(question, engine, &crowd));
  }
  RETURN_IF_ERROR(Read(*events, &answer));
  return answer;
}

Result<ProofRow> Prover::State::Compare(const ProofCase& way, Engine& engine) {
  const auto recorder = std::make_shared<RowRecorder>(first.has_value() ? &*first : nullptr);
  const Stopwatch watch;
  ASSIGN_OR_RETURN(Transcript answer, Ask(way.setting, engine, recorder));
  std::vector<TokenId>& tokens = answer.sequences.front().tokens;
  ProofRow row = {.name = way.name,
                  .note = NoteOf(way.setting, question, answer, engine),
                  .ran = true,
                  .tokens_sha256 = proof::HashOfTokens(tokens),
                  .logits_sha256 = recorder->TakeHash(),
                  .seconds = watch.Seconds(),
                  .difference = recorder->Difference(tokens)};
  if (!first.has_value()) first = recorder->TakeBits(std::move(tokens));
  return row;
}

Result<ProofRow> Prover::Run(const ProofCase& way) {
  if (!way.not_run.empty()) return ProofRow{.name = way.name, .note = way.not_run};
  std::optional<Model> again;
  if (way.setting == ProofSetting::kRestarted) {
    ASSIGN_OR_RETURN(again, LoadModel(state_->question.load));
  }
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(again ? *again : state_->model, way.engine));
  return state_->Compare(way, engine);
}

}  // namespace skald
