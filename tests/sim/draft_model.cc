#include "sim/draft_model.h"

#include <array>

#include "base/check.h"

namespace skald::sim {
namespace {

sampling::Sampler MakeSampler() {
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(kVocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  return *std::move(sampler);
}

// Of its network.
Fault FaultOfDrafts(Fault fault) { return fault == Fault::kStaleDraftPage ? fault : Fault::kNone; }

}  // namespace

DraftModel::DraftModel(const DraftModelSpec& spec)
    : spec_(spec),
      network_(spec.page_count, &freed_, FaultOfDrafts(spec.fault)),
      cache_(spec.page_count),
      chooser_(MakeSampler(), {kEnd}, spec.context),
      proposer_({.network = network_,
                 .cache = cache_,
                 .chooser = chooser_,
                 .max_rows = spec.max_rows,
                 .context = spec.context}) {
  cache_.pool().RecordFreed(&freed_);
  network_.SetNamespaceOf([this](const kv::PageId* pages) {
    const engine::Sequence* target = proposer_.TargetWith(pages);
    return target == nullptr ? ~uint64_t{0} : target->request->request.cache_namespace;
  });
}

int64_t DraftModel::Propose(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) {
  const bool unbounded = spec_.fault == Fault::kDraftPromptsUnbounded;
  network_.TakeRowCount();
  const int64_t caught_up = proposer_.Propose(wishes, unbounded ? spec_.context : catch_up_rows);
  for (const engine::DraftWish& wish : wishes) CheckGuess(wish);
  CheckRows(wishes, catch_up_rows);
  return caught_up;
}

// The tokens wanted and one more where the text went on, then one row for each guess but the first.
void DraftModel::CheckRows(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) {
  int64_t most = catch_up_rows;
  for (const engine::DraftWish& wish : wishes) most += 2 * wish.most;
  const int64_t rows = network_.TakeRowCount();
  if (rows > most) wrong_ = "a draft model computes more rows than its budget";
  rows_ += rows;
  if (spec_.clock != nullptr) spec_.clock->Advance(spec_.row_seconds * static_cast<double>(rows));
}

// What the draft model says of the tokens alone, guess by guess.
void DraftModel::CheckGuess(const engine::DraftWish& wish) {
  const engine::Sequence& target = *wish.sequence;
  engine::Sequence alone(target.request, target.index, kv::PageTable(&cache_.pool(), 0));
  alone.mu = target.mu;  // a guess moves it not: only what is said does
  uint64_t number = kStart;
  uint64_t hash = kStart;
  const auto append = [&](TokenId token) {
    number = Chain(number, token, alone.length(), target.request->request.cache_namespace);
    hash = Take(hash, number);
    alone.tokens.push_back(token);
  };
  for (const TokenId token : target.tokens) append(token);
  for (const TokenId guess : *wish.tokens) {
    std::array<float, kVocab> logits;
    std::array<float, kVocab> draft_logits;
    FillLogits(hash, logits);
    FillDraftLogits(logits, draft_logits);
    CHECK(chooser_.Follow(&alone).ok());
    const Result<TokenId> expected = chooser_.Guess(alone, draft_logits, nullptr);
    if (!expected.ok() || *expected != guess) wrong_ = "a draft is not what the draft model says";
    append(guess);
  }
}

std::string DraftModel::Check() const {
  if (!wrong_.empty()) return wrong_;
  if (std::string wrong = cache_.pool().CheckIntegrity(); !wrong.empty()) return "draft: " + wrong;
  if (std::string wrong = cache_.tree().CheckIntegrity(); !wrong.empty()) return "draft: " + wrong;
  return {};
}

std::string DraftModel::CheckEnd() {
  cache_.Evict(cache_.pool().total_count());
  if (cache_.pool().free_count() == cache_.pool().total_count()) return {};
  return "pages of the draft model are left behind";
}

}  // namespace skald::sim
