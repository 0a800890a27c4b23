#include "skald/explain.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "engine/ask.h"
#include "engine/options.h"
#include "explain/call_trees.h"
#include "explain/choices.h"
#include "explain/lens.h"
#include "explain/memory.h"
#include "explain/tapped.h"
#include "explain/weight_cards.h"
#include "kernels/attention/attention.h"
#include "model/step_log.h"
#include "model/transformer.h"
#include "sampling/sampler.h"
#include "skald/trace.h"
#include "skald/transcript.h"

namespace skald {
namespace {

Status CheckTaps(const ExplainQuestion& question, const Model& model) {
  const int64_t length = std::ssize(question.prompt) + question.max_tokens;
  if ((question.attention || question.experts) && length > kMaxTappedTokens) {
    return Status(ErrorCode::kInvalidArgument, "prompt and answer have " + std::to_string(length) +
                                                   " tokens, expected at most " +
                                                   std::to_string(kMaxTappedTokens) +
                                                   " where attention or experts are shown");
  }
  if (!question.attention || model.group() == nullptr) return Ok();
  // Each rank has some heads, and one of them is watched.
  return Status(ErrorCode::kInvalidArgument,
                "the attention of a model whose ranks are processes cannot be shown");
}

Status Check(const ExplainQuestion& question) {
  if (question.prompt.empty()) return Status(ErrorCode::kInvalidArgument, "the prompt is empty");
  if (question.max_tokens >= 1 && question.max_tokens <= kMaxExplainTokens) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                "the answer has " + std::to_string(question.max_tokens) +
                    " tokens, expected 1 to " + std::to_string(kMaxExplainTokens));
}

Request RequestOf(const Model& model, const ExplainQuestion& question) {
  Request request = {.prompt = question.prompt, .sampling = question.sampling};
  if (model.info().generates) {
    request.stop.max_tokens = question.max_tokens;
    if (question.prompt_probabilities) request.prompt_logprobs = 0;
  } else {
    request.pooling = question.pooling;
  }
  return request;
}

// Of the answer its tokens, and of the prompt how likely it was. What was drawn from what is the
// matter of Choices.
constexpr TranscriptKeeps kKeeps = {.text = false};

// What the record says of one request.
template <typename Body>
std::vector<Body> EventsOf(const std::vector<TraceEvent>& record, RequestId id) {
  std::vector<Body> bodies;
  for (const TraceEvent& event : record) {
    const Body* body = std::get_if<Body>(&event.body);
    if (body != nullptr && event.request == static_cast<uint64_t>(id)) bodies.push_back(*body);
  }
  return bodies;
}

void AddTokens(const Model& model, const ExplainQuestion& question, const Transcript& answer,
               Explanation* explanation) {
  const auto add = [&](TokenId id, TokenOrigin origin) {
    explanation->tokens.push_back(
        {.id = id, .text = std::string(model.tokenizer().TokenBytes(id)), .origin = origin});
  };
  for (const TokenId id : question.prompt) {
    const bool is_cached = std::ssize(explanation->tokens) < answer.cached_tokens;
    add(id, is_cached ? TokenOrigin::kCached : TokenOrigin::kComputed);
  }
  if (answer.prompt_logprobs != nullptr) {
    size_t place = 0;
    for (const PromptLogprobs::Token& token : answer.prompt_logprobs->tokens) {
      explanation->tokens[++place].probability = std::exp(token.logprob);
    }
  }
  if (answer.sequences.empty()) return;
  for (const TokenId id : answer.sequences.front().tokens) add(id, TokenOrigin::kDrawn);
}

// The token behind the last row of a step was drawn from its logits. Where those of the whole
// prompt are wanted, they are made of its hidden rows behind the step.
TokenId DrawnBehind(const model::StepShape& shape, const Explanation& explanation) {
  const int64_t next = shape.first_position + shape.rows;
  const bool draws = shape.logit_rows + shape.hidden_rows > 0 &&
                     next >= explanation.prompt_tokens && next < std::ssize(explanation.tokens);
  return draws ? explanation.tokens[static_cast<size_t>(next)].id : kNoToken;
}

void AddSteps(const explain::CallTrees& trees, const std::vector<model::LoggedStep>& steps,
              Explanation* explanation) {
  for (const model::LoggedStep& step : steps) {
    explanation->steps.push_back(
        {.first_position = step.shape.first_position,
         .rows = step.shape.rows,
         .logit_rows = step.shape.logit_rows,
         .is_prefill = step.shape.first_position < explanation->prompt_tokens,
         .drawn = DrawnBehind(step.shape, *explanation),
         .tree = trees.Of(step)});
  }
}

// What was tapped of the steps; the lens goes with the step that drew.
Status AddTapped(const Model& model, const engine::ResolvedOptions& options,
                 std::vector<model::LoggedStep> steps, Explanation* explanation) {
  std::optional<explain::Lens> lens;
  for (size_t i = 0; i < steps.size(); ++i) {
    model::Tapped& tapped = steps[i].tapped;
    explain::AddAttention(std::move(tapped.attention), explanation);
    explain::AddExperts(model.transformer().network(), std::move(tapped.experts), explanation);
    ExplainedStep& step = explanation->steps[i];
    if (tapped.depth.empty() || step.drawn == kNoToken) continue;
    if (!lens) {
      ASSIGN_OR_RETURN(lens, explain::Lens::Create(model, options));
    }
    step.lens = lens->Read(tapped.depth, step.drawn);
  }
  explain::AddHeads(explanation);
  return Ok();
}

std::optional<PageSource> SourceOf(PageAct act) {
  switch (act) {
    case PageAct::kShared: return PageSource::kShared;
    case PageAct::kTaken: return PageSource::kTaken;
    case PageAct::kCopied: return PageSource::kCopied;
    case PageAct::kEvicted: return std::nullopt;
  }
  UNREACHABLE();
}

// A page that is copied stands in the place of a shared one.
void AddPages(const std::vector<TracePages>& events, Explanation* explanation) {
  static_assert(kExplainedPagePositions == kernels::kPageTokens);
  std::vector<ExplainedPage>& pages = explanation->pages;
  for (const TracePages& event : events) {
    const std::optional<PageSource> source = SourceOf(event.act);
    for (int64_t i = 0; source && i < event.ids.count; ++i) {
      const auto index = static_cast<size_t>(event.first + i);
      if (pages.size() <= index) pages.resize(index + 1);
      pages[index] = {.id = event.ids.ids[static_cast<size_t>(i)],
                      .first_position = static_cast<int64_t>(index) * kExplainedPagePositions,
                      .source = *source};
    }
  }
}

// The rows that tokens were drawn from. See is for the engine's thread while it answers, the rest
// for behind that.
struct LogitRows {
  std::vector<std::vector<float>> rows;

  void See(std::span<const float> logits) { rows.emplace_back(logits.begin(), logits.end()); }
};

// How each token was chosen, to the step that it was drawn in.
Status AddChoices(explain::Choices choices, const LogitRows& seen,
                  const std::vector<TraceToken>& recorded, const Model& model,
                  Explanation* explanation) {
  std::vector<TokenId> tokens;
  for (const ExplainedToken& token : explanation->tokens) tokens.push_back(token.id);
  const std::span<const TokenId> all = tokens;
  const auto prompt = static_cast<size_t>(explanation->prompt_tokens);
  size_t index = 0;
  for (ExplainedStep& step : explanation->steps) {
    if (step.drawn == kNoToken || index >= seen.rows.size()) continue;
    ASSIGN_OR_RETURN(step.choice, choices.Explain({.logits = seen.rows[index],
                                                   .prompt = all.first(prompt),
                                                   .output = all.subspan(prompt, index),
                                                   .drawn = step.drawn}));
    for (ExplainedChance& chance : step.choice->chances) {
      chance.text = std::string(model.tokenizer().TokenBytes(chance.token));
      if (chance.token == step.drawn) {
        explanation->tokens[prompt + index].probability = chance.probabilities.front();
      }
    }
    if (index < recorded.size()) {
      step.choice->recorded_candidates = recorded[index].candidates;
      step.choice->recorded_probability = recorded[index].p_drawn;
    }
    ++index;
  }
  return Ok();
}

// An engine that is watched.
struct Watch {
  explicit Watch(const model::TapWishes& wishes) : log(std::make_shared<model::StepLog>(wishes)) {}

  std::shared_ptr<model::StepLog> log;
  std::shared_ptr<TraceRing> trace = std::make_shared<TraceRing>(TraceOptions{});
  std::shared_ptr<LogitRows> rows = std::make_shared<LogitRows>();

  EngineOptions Options(EngineOptions options) const {
    options.step_log = log;
    options.trace = trace;
    return options;
  }

  // Shared: the engine may still compute a row of a question that somebody has given up.
  Request Watched(Request request) const {
    request.logit_tap = [seen = rows](int32_t, int64_t, std::span<const float> logits) {
      seen->See(logits);
    };
    return request;
  }
};

Result<Explanation> ExplainWatched(const Model& model, const ExplainQuestion& question,
                                   const Watch& watch, const std::function<bool()>& go_on) {
  const model::Network& network = model.transformer().network();
  const EngineOptions options = watch.Options(question.engine);
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, network));
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, options));
  const Request request = RequestOf(model, question);
  if (question.warm) {
    RETURN_IF_ERROR(engine::Ask(engine, request, kKeeps, go_on).status());
    watch.log->Take();
  }
  ASSIGN_OR_RETURN(const engine::Asked answer,
                   engine::Ask(engine, watch.Watched(request), kKeeps, go_on));
  std::vector<TraceEvent> record;
  watch.trace->Take(&record);
  Explanation explanation = {.model = model.info(),
                             .isa = std::string(engine.isa_name()),
                             .threads = engine.threads(),
                             .context = engine.context(),
                             .sampling = question.sampling,
                             .ceilings = question.ceilings,
                             .prompt_tokens = std::ssize(question.prompt),
                             .cached_tokens = answer.transcript.cached_tokens};
  AddTokens(model, question, answer.transcript, &explanation);
  const explain::CallTrees trees(network, model::KvLayoutOf(network, resolved.kv_types),
                                 question.ceilings);
  std::vector<model::LoggedStep> steps = watch.log->Take();
  AddSteps(trees, steps, &explanation);
  AddPages(EventsOf<TracePages>(record, answer.id), &explanation);
  explanation.memory = explain::MemoryOf(network, model::KvLayoutOf(network, resolved.kv_types));
  explain::AddWindows(steps, &explanation);
  for (const auto& snapshot : EventsOf<TraceSnapshot>(record, answer.id)) {
    explanation.memory.snapshots.push_back(snapshot.position);
  }
  RETURN_IF_ERROR(AddTapped(model, resolved, std::move(steps), &explanation));
  if (question.tensors) explanation.weights = explain::WeightCards(network);
  ASSIGN_OR_RETURN(sampling::Sampler sampler,
                   sampling::Sampler::Create(network.vocab, resolved.isa));
  RETURN_IF_ERROR(AddChoices({std::move(sampler), question.sampling}, *watch.rows,
                             EventsOf<TraceToken>(record, answer.id), model, &explanation));
  return explanation;
}

void AddCards(const Call& call, std::vector<ExplainedTensor>* cards) {
  const std::string place =
      (call.layer < 0 ? "" : "layer " + std::to_string(call.layer) + ' ') + call.name;
  for (const ExplainedTensor& tensor : call.tensors) {
    cards->push_back({place + ": " + tensor.name, tensor.card});
  }
  for (const Call& inner : call.calls) AddCards(inner, cards);
  if (!call.card) return;
  const bool is_layer = call.kind == CallKind::kLayer;
  cards->push_back({is_layer ? call.name + ": residual stream" : place, *call.card});
}

}  // namespace

std::vector<ExplainedTensor> CardsOf(const Call& tree) {
  std::vector<ExplainedTensor> cards;
  AddCards(tree, &cards);
  return cards;
}

std::string_view PageSourceName(PageSource source) {
  switch (source) {
    case PageSource::kShared: return "shared";
    case PageSource::kTaken: return "taken";
    case PageSource::kCopied: return "copied";
  }
  UNREACHABLE();
}

std::string_view TokenOriginName(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::kCached: return "cached";
    case TokenOrigin::kComputed: return "computed";
    case TokenOrigin::kDrawn: return "drawn";
  }
  UNREACHABLE();
}

Result<Explanation> ExplainRun(const Model& model, const ExplainQuestion& question,
                               const std::function<bool()>& go_on) {
  RETURN_IF_ERROR(Check(question));
  RETURN_IF_ERROR(CheckTaps(question, model));
  const model::TapWishes wishes = {.attention = question.attention,
                                   .depth = question.lens && model.info().generates,
                                   .experts = question.experts,
                                   .values = question.tensors};
  return ExplainWatched(model, question, Watch(wishes), go_on);
}

}  // namespace skald
