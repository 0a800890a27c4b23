#include "engine/ngram_proposer.h"

#include <algorithm>

namespace skald::engine {
namespace {

// Multiplicative hashing (Knuth 6.4), folded after each token. Nobody gains by making it collide:
// they would only slow their own text down.
size_t PlaceOf(std::span<const TokenId> ngram) {
  uint64_t hash = 0;
  for (const TokenId token : ngram) {
    hash = (hash + static_cast<uint32_t>(token) + 1) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash) % NgramIndex::kPlaces;
}

}  // namespace

NgramIndex::NgramIndex()
    : tables_{Table{kLong, std::vector<int32_t>(kPlaces)},
              Table{kShort, std::vector<int32_t>(kPlaces)}} {}

void NgramIndex::Clear() {
  for (Table& table : tables_) std::fill(table.behind.begin(), table.behind.end(), 0);
  indexed_ = 0;
}

std::optional<int64_t> NgramIndex::Find(std::span<const TokenId> tokens) {
  for (; indexed_ + 1 < tokens.size(); ++indexed_) {
    const size_t behind = indexed_ + 1;
    for (Table& table : tables_) {
      if (behind < table.length) continue;
      const auto ngram = tokens.subspan(behind - table.length, table.length);
      table.behind[PlaceOf(ngram)] = static_cast<int32_t>(behind);
    }
  }
  for (const Table& table : tables_) {
    if (const auto found = FindIn(table, tokens)) return found;
  }
  return std::nullopt;
}

std::optional<int64_t> NgramIndex::FindIn(const Table& table, std::span<const TokenId> tokens) {
  if (tokens.size() <= table.length) return std::nullopt;
  const auto last = tokens.last(table.length);
  const auto behind = static_cast<size_t>(table.behind[PlaceOf(last)]);
  if (behind == 0) return std::nullopt;
  const auto found = tokens.subspan(behind - table.length, table.length);
  if (!std::equal(found.begin(), found.end(), last.begin())) return std::nullopt;
  return static_cast<int64_t>(behind);
}

int64_t NgramProposer::Propose(std::span<const DraftWish> wishes, int64_t) {
  for (const DraftWish& wish : wishes) {
    const std::vector<TokenId>& text = wish.sequence->tokens;
    const std::optional<int64_t> found = IndexOf(*wish.sequence).Find(text);
    if (!found) continue;
    const auto from = static_cast<size_t>(*found);
    for (size_t i = 0; i < static_cast<size_t>(wish.most); ++i) {
      // Behind the end of the text the draft goes on with itself.
      const bool in_text = from + i < text.size();
      wish.tokens->push_back(in_text ? text[from + i] : (*wish.tokens)[from + i - text.size()]);
    }
  }
  return 0;
}

void NgramProposer::Forget(const Sequence& sequence) {
  for (Slot& slot : slots_) {
    if (slot.sequence == &sequence) slot.sequence = nullptr;
  }
}

NgramIndex& NgramProposer::IndexOf(const Sequence& sequence) {
  const auto find = [this](const Sequence* wanted) {
    return std::find_if(slots_.begin(), slots_.end(),
                        [wanted](const Slot& slot) { return slot.sequence == wanted; });
  };
  auto slot = find(&sequence);
  if (slot != slots_.end()) return *slot->index;
  slot = find(nullptr);
  if (slot == slots_.end()) slot = slots_.insert(slot, {nullptr, std::make_unique<NgramIndex>()});
  slot->sequence = &sequence;
  slot->index->Clear();
  return *slot->index;
}

}  // namespace skald::engine
