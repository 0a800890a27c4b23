#include "skald/explain.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "engine/options.h"
#include "explain/call_trees.h"
#include "model/step_log.h"
#include "model/transformer.h"
#include "skald/transcript.h"

namespace skald {
namespace {

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
  } else {
    request.pooling = question.pooling;
  }
  return request;
}

// Asks, and reads the answer to its end.
Result<Transcript> Ask(Request request, Engine& engine, const std::function<bool()>& go_on) {
  const auto events = std::make_shared<EventQueue>();
  Transcript answer(request, {.text = false, .logprobs = false});
  ASSIGN_OR_RETURN(const RequestId id, engine.Submit(std::move(request), events));
  while (!answer.end) {
    if (!go_on()) engine.Cancel(id);
    answer.Add(events->Next());
  }
  RETURN_IF_ERROR(answer.end->status);
  if (answer.end->reason == FinishReason::kCancelled) {
    return Status(ErrorCode::kCancelled, "interrupted");
  }
  return answer;
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
  if (answer.sequences.empty()) return;
  for (const TokenId id : answer.sequences.front().tokens) add(id, TokenOrigin::kDrawn);
}

// The token behind the last row of a step was drawn from its logits.
TokenId DrawnBehind(const model::StepShape& shape, const Explanation& explanation) {
  const auto next = static_cast<size_t>(shape.first_position + shape.rows);
  const bool draws = shape.logit_rows > 0 && next < explanation.tokens.size();
  return draws ? explanation.tokens[next].id : kNoToken;
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

}  // namespace

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
  const model::Network& network = model.transformer().network();
  EngineOptions options = question.engine;
  const auto log = std::make_shared<model::StepLog>();
  options.step_log = log;
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, network));
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, options));
  if (question.warm) {
    RETURN_IF_ERROR(Ask(RequestOf(model, question), engine, go_on).status());
    log->Take();
  }
  ASSIGN_OR_RETURN(const Transcript answer, Ask(RequestOf(model, question), engine, go_on));
  Explanation explanation = {.model = model.info(),
                             .isa = std::string(engine.isa_name()),
                             .threads = engine.threads(),
                             .context = engine.context(),
                             .sampling = question.sampling,
                             .ceilings = question.ceilings,
                             .prompt_tokens = std::ssize(question.prompt),
                             .cached_tokens = answer.cached_tokens};
  AddTokens(model, question, answer, &explanation);
  const explain::CallTrees trees(network, model::KvLayoutOf(network, resolved.kv_types),
                                 question.ceilings);
  AddSteps(trees, log->Take(), &explanation);
  return explanation;
}

}  // namespace skald
