#include "engine/cache_manager.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
kv::Namespace NamespaceOf(const RequestState& request) {
  return kv::Namespace{request.request.cache_namespace};
}

// At least the last token must be computed, for its logits.
int64_t CacheManager::ReusableTokens(const Sequence& sequence) const {
  return has_states() ? 0 : sequence.request->ReusableTokens(sequence.length());
}

std::span<const TokenId> CacheManager::Matchable(const Sequence& sequence) const {
  return std::span(sequence.tokens).first(static_cast<size_t>(ReusableTokens(sequence)));
}

void CacheManager::Acquire(Sequence* sequence) {
  if (has_states()) return;
  sequence->pin =
      tree_.Acquire(NamespaceOf(*sequence->request), Matchable(*sequence), &sequence->table);
  sequence->computed = sequence->pin.tokens();
}

bool CacheManager::PrepareWrite(Sequence* sequence, int64_t count,
                                std::vector<kv::PageCopy>* copies) {
  const int64_t from = sequence->computed;
  Evict(PagesToWrite(*sequence, count) - pool_.free_count());
  if (!sequence->table.PrepareWrite(from, from + count, copies)) return false;
  if (!has_states() || sequence->state.holds()) return true;
  // Here and not when it is admitted: those that are only looked at have none.
  sequence->state = states_.Take();
  CHECK(sequence->state.holds() && from == 0);
  return true;
}

int64_t CacheManager::PagesToWrite(const Sequence& sequence, int64_t count) const {
  return sequence.table.PagesToWrite(sequence.computed, sequence.computed + count);
}

// The tree knows one page of several with the same tokens, and keeps it for the pins of all.
void CacheManager::Deduplicate(Sequence* sequence) {
  if (has_states()) return;
  const int64_t computed = sequence->computed;
  CacheManager::Release(sequence);
  const auto tokens =
      std::span<const TokenId>(sequence->tokens).first(static_cast<size_t>(computed));
  sequence->pin = tree_.Acquire(NamespaceOf(*sequence->request), tokens, &sequence->table);
  sequence->computed = sequence->pin.tokens();
  CHECK(sequence->computed == computed);
}

void CacheManager::Publish(Sequence* sequence, int64_t count) {
  const auto tokens =
      std::span<const TokenId>(sequence->tokens)
          .subspan(static_cast<size_t>(sequence->computed), static_cast<size_t>(count));
  sequence->computed += count;
  if (has_states()) return;
  tree_.Insert(&sequence->pin, tokens, &sequence->table);
}

void CacheManager::Release(Sequence* sequence) {
  sequence->pin.Release();
  sequence->table.Truncate(0);
  sequence->state.Release();
  sequence->computed = 0;
}

std::unique_ptr<Sequence> CacheManager::Fork(Sequence* lead, int32_t index, int64_t context) {
  auto fork = ForkSequence(lead, index, context);
  if (has_states()) {
    fork->state = states_.Take();
    CHECK(fork->state.holds());
  }
  return fork;
}

void CacheManager::ForkInto(Sequence* lead, Sequence* fork) {
  CHECK(!has_states());
  CacheManager::Release(fork);
  fork->tokens.assign(lead->tokens.begin(), lead->tokens.end());
  const auto pages = static_cast<size_t>(DivCeil<int64_t>(lead->computed, kernels::kPageTokens));
  lead->table.MarkShared(lead->computed);
  fork->table.Adopt(lead->table.pages().first(pages), lead->computed);
  fork->computed = lead->computed;
  fork->pin = lead->pin.Fork();
}

int64_t CacheManager::Evict(int64_t wanted) {
  const int64_t freed = tree_.Evict(wanted);
  evicted_count_ += freed;
  return freed;
}

int64_t CacheManager::PagesOnlyOf(const Sequence& sequence) const {
  const auto pages = sequence.table.pages();
  return std::count_if(pages.begin(), pages.end(), [this](kv::PageId page) {
    return pool_.reference_count(page) - pool_.cache_references(page) == 1;
  });
}

int64_t CacheManager::Match(const Sequence& sequence) const {
  return tree_.Match(NamespaceOf(*sequence.request), Matchable(sequence));
}

}  // namespace skald::engine
