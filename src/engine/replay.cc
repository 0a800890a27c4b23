#include "skald/replay.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/options.h"
#include "engine/request_check.h"
#include "engine/request_state.h"
#include "engine/speculation.h"
#include "engine/token_chooser.h"
#include "model/transformer.h"
#include "skald/logits.h"

namespace skald {
namespace {

Status Unsupported(std::string_view what) {
  return Status(ErrorCode::kUnsupported, "an answer with " + std::string(what) +
                                             " cannot be drawn again from its tokens alone");
}

Status CheckAnswer(const ReplayedAnswer& answer) {
  const Request& request = answer.request;
  if (request.constraint.has_value()) return Unsupported("a grammar");
  if (request.beam_search.beams > 0) return Unsupported("beams");
  if (request.pooling != Pooling::kNone) return Unsupported("an embedding");
  if (answer.sequence < 0 || answer.sequence >= kMaxSequences) {
    return Status(ErrorCode::kInvalidArgument,
                  "the sequence is " + std::to_string(answer.sequence) + ", expected 0 to " +
                      std::to_string(kMaxSequences - 1));
  }
  if (!answer.output.empty()) return Ok();
  return Status(ErrorCode::kInvalidArgument, "the answer is empty: there is nothing to draw");
}

// The sequence of a request, which grows by the tokens of the answer.
class Again {
 public:
  Again(const ReplayedAnswer& answer, Request request, engine::TokenChooser chooser,
        const engine::ResolvedOptions& options)
      : output_(answer.output),
        chooser_(std::move(chooser)),
        pages_(options.page_count),
        state_(engine::MakeState({.request = std::move(request), .sink = nullptr},
                                 chooser_.end_tokens(), &pages_, options.context)) {
    state_->sequences.front()->index = answer.sequence;
  }

  // The tokens whose rows are computed: all but the last of the answer.
  std::vector<TokenId> Rows() const {
    std::vector<TokenId> rows = state_->sequences.front()->tokens;
    rows.insert(rows.end(), output_.begin(), output_.end() - 1);
    return rows;
  }
  // The first row that a token of the answer is drawn from.
  int64_t first_row() const { return state_->prompt_tokens - 1; }

  Result<ReplayedToken> Take(std::span<const float> logits) {
    const FloatMode mode;  // as on the engine's thread
    engine::Sequence& sequence = *state_->sequences.front();
    const size_t index = sequence.output().size();
    ASSIGN_OR_RETURN(const engine::ChosenToken chosen, chooser_.Choose(sequence, logits));
    sequence.tokens.push_back(output_[index]);
    sequence.mu = chosen.mu;
    return ReplayedToken{.index = static_cast<int64_t>(index),
                         .token = chosen.token,
                         .draw = chosen.draw,
                         .is_end = chooser_.EndOf(sequence) == FinishReason::kStop};
  }

 private:
  std::span<const TokenId> output_;
  engine::TokenChooser chooser_;
  kv::PagePool pages_;  // of which it uses none: rows are the session's
  std::unique_ptr<engine::RequestState> state_;
};

// The sequence alone, whatever stood beside it.
Request OneSequence(Request request) {
  request.n = 1;
  request.best_of = 1;
  return request;
}

}  // namespace

Status Replay(const Model& model, const EngineOptions& options, const ReplayedAnswer& answer,
              const std::function<Status(const ReplayedToken& token)>& on_token) {
  RETURN_IF_ERROR(CheckAnswer(answer));
  const model::Network& network = model.transformer().network();
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, network));
  Request request = OneSequence(answer.request);
  RETURN_IF_ERROR(engine::CheckRequest(request, {.context = resolved.context,
                                                 .vocab = network.vocab,
                                                 .page_count = resolved.page_count,
                                                 .max_running = 1,
                                                 .generates = model.info().generates,
                                                 .rank_pooling = model.info().rank_pooling}));
  ASSIGN_OR_RETURN(LogitsSession session, LogitsSession::Create(model, options));
  ASSIGN_OR_RETURN(sampling::Sampler sampler,
                   sampling::Sampler::Create(network.vocab, resolved.isa));
  Again again(answer, std::move(request),
              engine::TokenChooser(std::move(sampler), engine::EndTokens(model), resolved.context),
              resolved);
  int64_t silent = again.first_row();
  return session.Compute(again.Rows(), {}, [&](std::span<const float> row) -> Status {
    if (silent-- > 0) return Ok();
    ASSIGN_OR_RETURN(const ReplayedToken token, again.Take(row));
    return on_token(token);
  });
}

}  // namespace skald
