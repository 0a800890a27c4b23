#include "engine/speculation.h"

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "engine/draft_proposer.h"
#include "engine/forced_proposer.h"
#include "engine/ngram_proposer.h"
#include "engine/runner.h"
#include "model/transformer.h"

namespace skald::engine {
namespace {

Status Different(const std::string& what) {
  return Status(ErrorCode::kInvalidArgument,
                "the draft model must have the vocabulary of the model: " + what);
}

// Token by token: a draft with another order of tokens would run, and never be right.
Status CheckVocabulary(const Model& target, const Model& draft) {
  const int64_t rows = target.transformer().network().vocab;
  const int64_t draft_rows = draft.transformer().network().vocab;
  if (rows != draft_rows) {
    return Different("it has " + std::to_string(draft_rows) + " tokens, expected " +
                     std::to_string(rows));
  }
  const Tokenizer& expected = target.tokenizer();
  const Tokenizer& found = draft.tokenizer();
  for (TokenId id = 0; id < rows; ++id) {
    if (expected.TokenBytes(id) == found.TokenBytes(id) && expected.Type(id) == found.Type(id)) {
      continue;
    }
    return Different("its token " + std::to_string(id) + " is \"" + found.EscapedToken(id) +
                     "\", expected \"" + expected.EscapedToken(id) + "\"");
  }
  return Ok();
}

// A draft model with what its proposer works with.
class OwningDraftProposer : public Proposer {
 public:
  OwningDraftProposer(const Model& model, std::unique_ptr<Runner> network,
                      sampling::Sampler sampler, const ResolvedOptions& options)
      : model_(model),
        network_(std::move(network)),
        cache_(options.page_count),
        chooser_(std::move(sampler), EndTokens(model), options.context),
        proposer_({.network = *network_,
                   .cache = cache_,
                   .chooser = chooser_,
                   .max_rows = options.max_rows,
                   .context = options.context}) {}

  int64_t Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) override {
    return proposer_.Propose(wishes, catch_up_rows);
  }
  void Forget(const Sequence& sequence) override { proposer_.Forget(sequence); }

 private:
  Model model_;
  std::unique_ptr<Runner> network_;
  CacheManager cache_;
  TokenChooser chooser_;
  DraftProposer proposer_;
};

Result<std::unique_ptr<Proposer>> MakeDraft(const Model& target, const Model& draft,
                                            const ResolvedOptions& resolved,
                                            std::shared_ptr<ThreadPool> threads) {
  RETURN_IF_ERROR(CheckVocabulary(target, draft));
  if (model::StateFloatsOf(draft.transformer().network()) > 0) {
    return Status(ErrorCode::kUnsupported,
                  "the draft model has layers that carry a state, which cannot be taken back "
                  "behind a wrong guess: this version takes drafts from attention models only");
  }
  if (model::NeedsWholeTexts(draft.transformer().network())) {
    return Status(ErrorCode::kUnsupported, "the draft model embeds texts; it does not generate");
  }
  RETURN_IF_ERROR(
      CheckKvTypes(draft.transformer().network(), resolved.kv_types).WithContext("draft model"));
  // Its windows are its own. It keeps all pages: what it forgets it would compute again.
  ResolvedOptions sized = resolved;
  sized.windows = {};
  ASSIGN_OR_RETURN(auto network, MakeRunner(draft, sized, std::move(threads)));
  ASSIGN_OR_RETURN(sampling::Sampler sampler,
                   sampling::Sampler::Create(draft.transformer().network().vocab, resolved.isa));
  return std::unique_ptr<Proposer>(std::make_unique<OwningDraftProposer>(
      draft, std::move(network), std::move(sampler), resolved));
}

}  // namespace

std::vector<TokenId> EndTokens(const Model& model) {
  const auto ids = model.tokenizer().end_of_generation_ids();
  return {ids.begin(), ids.end()};
}

Result<std::unique_ptr<Proposer>> MakeProposer(const Model& target,
                                               const SpeculationOptions& options,
                                               const ResolvedOptions& resolved,
                                               std::shared_ptr<ThreadPool> threads) {
  std::vector<std::unique_ptr<Proposer>> links;
  // Options that leave no room for guesses leave nobody to make them.
  if (resolved.most_draft == 0) return std::unique_ptr<Proposer>();
  const Speculation kind = options.kind;
  // Before all others, and without them: what is forced is hardly ever wrong.
  links.push_back(std::make_unique<ForcedProposer>());
  if (kind == Speculation::kNgram || kind == Speculation::kChain) {
    links.push_back(std::make_unique<NgramProposer>());
  }
  if (kind == Speculation::kDraft || kind == Speculation::kChain) {
    CHECK(options.draft.has_value());
    ASSIGN_OR_RETURN(auto draft, MakeDraft(target, *options.draft, resolved, std::move(threads)));
    links.push_back(std::move(draft));
  }
  return std::unique_ptr<Proposer>(std::make_unique<ChainProposer>(std::move(links)));
}

}  // namespace skald::engine
