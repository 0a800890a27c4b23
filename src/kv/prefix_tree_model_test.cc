// Model-based: the real pool, tables and tree beside a naive map from token strings, random events
// to both. The bytes are faked: each position of a page holds a hash of everything that K and V
// depend on, so a sequence that reads a wrong, stale or overwritten position is found at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/attention/attention.h"
#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
constexpr int kEvents = 100'000;
#else
constexpr int kEvents = 1'000'000;
#endif
constexpr int64_t kPage = kernels::kPageTokens;
constexpr int64_t kPages = 20;
constexpr int64_t kMaxLength = 100;
constexpr int64_t kNamespaces = 3;
constexpr size_t kMaxSequences = 5;
constexpr uint64_t kPoison = ~uint64_t{0};

// A text is a namespace, one character, and then tokens, one character each.
using Text = std::string;
using TextView = std::string_view;

int64_t LengthOf(TextView text) { return static_cast<int64_t>(text.size()) - 1; }
TextView Prefix(TextView text, int64_t length) {
  return text.substr(0, static_cast<size_t>(length) + 1);
}
Namespace SpaceOf(TextView text) { return Namespace{static_cast<uint64_t>(text[0])}; }
std::vector<TokenId> TokensOf(TextView text) { return {text.begin() + 1, text.end()}; }
int64_t CommonLength(TextView a, TextView b) {
  const auto [end, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return std::max<int64_t>(end - a.begin() - 1, 0);
}
// What position i holds: depends on the namespace and on all tokens up to it (FNV-1a).
std::vector<uint64_t> ContentsOf(TextView text) {
  std::vector<uint64_t> contents;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<uint64_t>(c)) * 0x100000001b3u;
    contents.push_back(hash);
  }
  contents.erase(contents.begin());
  return contents;
}

// The naive map: each cached text, with every prefix of it, and when it was last let go.
class Model {
 public:
  int64_t size() const { return static_cast<int64_t>(last_use_.size()); }
  const std::map<Text, int64_t, std::less<>>& texts() const { return last_use_; }

  int64_t Match(TextView text) const {
    const auto next = last_use_.lower_bound(text);
    int64_t longest = 0;
    if (next != last_use_.end()) longest = CommonLength(text, next->first);
    if (next != last_use_.begin()) {
      longest = std::max(longest, CommonLength(text, std::prev(next)->first));
    }
    return longest;
  }
  // Notes the use of `text` and of its prefixes longer than `known`.
  void Use(TextView text, int64_t known, int64_t now) {
    for (int64_t length = known + 1; length <= LengthOf(text); ++length) {
      last_use_.insert_or_assign(Text(Prefix(text, length)), now);
    }
  }
  // A cached text that starts with `text`, if there is one.
  std::optional<Text> Longer(TextView text) const {
    const auto next = last_use_.upper_bound(text);
    if (next == last_use_.end() || !next->first.starts_with(text)) return std::nullopt;
    return next->first;
  }
  // Forgets what `tree` has evicted, and checks that it was used no later than what was spared.
  void Evicted(const PrefixTree& tree, const std::set<Text>& pinned) {
    int64_t latest = 0;
    Text spared;
    // From the last text to the first: a text comes after its prefixes.
    for (auto it = last_use_.end(); it != last_use_.begin();) {
      --it;
      const auto& [text, last_use] = *it;
      if (spared.starts_with(text)) continue;
      if (tree.Match(SpaceOf(text), TokensOf(text)) < LengthOf(text)) {
        latest = std::max(latest, last_use);
        it = last_use_.erase(it);
      } else {
        spared = text;
      }
    }
    for (const Text& text : pinned) EXPECT_EQ(Match(text), LengthOf(text)) << "evicted: " << text;
    for (auto it = last_use_.begin(); it != last_use_.end(); ++it) {
      const Text& text = it->first;
      const auto next = std::next(it);
      const bool leaf = next == last_use_.end() || !next->first.starts_with(text);
      if (!leaf || pinned.contains(text)) continue;
      // It could have gone. Runs of one page count as used when the latest part of them was.
      const int64_t page_start = (LengthOf(text) - 1) / kPage * kPage;
      EXPECT_GE(last_use_.find(Prefix(text, page_start + 1))->second, latest) << "spared: " << text;
    }
  }

 private:
  std::map<Text, int64_t, std::less<>> last_use_;
};

struct Sequence {
  Text text;  // namespace and computed tokens; the first pin.tokens() are in the tree
  PageTable table;
  PrefixTree::Pin pin;
};

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    pool_.RecordFreed(&freed_);
    for (auto& page : store_) page.fill(kPoison);
  }

  void RandomEvent() {
    ++now_;
    const int64_t kind = Draw(16);
    if (kind < 3) Start();
    if (kind == 3 && !sequences_.empty()) Fork(&Any());
    if (kind == 4 && !sequences_.empty()) Rewind(&Any());
    if (kind == 5 && !sequences_.empty()) Finish(Draw(std::ssize(sequences_)));
    if (kind == 6) Evict(Draw(4));
    if (kind == 7) Look();
    if (kind >= 8 && !sequences_.empty()) Extend(&Any());
    PoisonFreed();
  }

  void Check() {
    ASSERT_EQ(tree_.CheckIntegrity(), "");
    ASSERT_EQ(tree_.token_count(), model_.size());
    ASSERT_LE(tree_.node_count(), 2 * kPages + std::ssize(sequences_) + kNamespaces);
    std::map<PageId, int> owners;
    for (const Sequence& sequence : sequences_) {
      for (int64_t i = 0; i < std::ssize(sequence.table.pages()); ++i) {
        owners[sequence.table.pages()[static_cast<size_t>(i)]] += sequence.table.OwnsPage(i);
      }
      ASSERT_LE(sequence.pin.tokens(), LengthOf(sequence.text));
    }
    for (const auto& [page, count] : owners) ASSERT_LE(count, 1) << "two writers of page " << page;
    ASSERT_EQ(pool_.held_count(), std::ssize(owners));
    if (!sequences_.empty()) CheckContents(Any());
  }

  void Finish(int64_t index) {
    Sequence& sequence = sequences_[static_cast<size_t>(index)];
    model_.Use(Prefix(sequence.text, sequence.pin.tokens()), 0, now_);
    if (Draw(2) == 0) sequence.pin.Release();
    sequences_.erase(sequences_.begin() + index);
  }
  void FinishAll() {
    while (!sequences_.empty()) Finish(0);
    Evict(kPages);
    EXPECT_EQ(pool_.free_count(), kPages);
    EXPECT_EQ(tree_.node_count(), 0);
  }

 private:
  int64_t Draw(int64_t bound) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound));
  }
  Sequence& Any() { return sequences_[static_cast<size_t>(Draw(std::ssize(sequences_)))]; }

  // A random length; page borders and their neighbours are likely.
  int64_t DrawLength(int64_t most) {
    const int64_t length = Draw(2) == 0 ? Draw(most + 1) : Draw(4) * kPage + Draw(3) - 1;
    return std::clamp<int64_t>(length, 0, most);
  }
  // A random text; mostly a cached one, cut anywhere, with another end.
  Text DrawText(int64_t most) {
    Text text(1, static_cast<char>('0' + Draw(kNamespaces)));
    if (model_.size() > 0 && Draw(4) > 0) {
      const auto any =
          std::next(model_.texts().begin(), Draw(std::min<int64_t>(model_.size(), 64)));
      text = model_.Longer(any->first).value_or(any->first);
      if (Draw(8) == 0) text[0] = static_cast<char>('0' + Draw(kNamespaces));
      text.resize(static_cast<size_t>(DrawLength(LengthOf(text))) + 1);
    }
    const auto length = static_cast<size_t>(DrawLength(most)) + 1;
    const char filler = static_cast<char>('a' + Draw(3));
    while (text.size() < length) text += Draw(8) == 0 ? static_cast<char>('a' + Draw(3)) : filler;
    text.resize(std::min(text.size(), static_cast<size_t>(most) + 1));
    return text;
  }

  void Look() {
    const Text text = DrawText(kMaxLength);
    ASSERT_EQ(tree_.Match(SpaceOf(text), TokensOf(text)), model_.Match(text)) << text;
  }

  void Start() {
    if (sequences_.size() == kMaxSequences) return;
    const Text text = DrawText(kMaxLength);
    Sequence sequence{text, PageTable(&pool_, kMaxLength + kPage), {}};
    sequence.pin = tree_.Acquire(SpaceOf(text), TokensOf(text), &sequence.table);
    ASSERT_EQ(sequence.pin.tokens(), model_.Match(text)) << text;
    sequence.text = Prefix(text, sequence.pin.tokens());
    CheckContents(sequence);
    sequences_.push_back(std::move(sequence));
  }

  void Fork(Sequence* parent) {
    if (sequences_.size() == kMaxSequences) return;
    Sequence child{parent->text, parent->table.Fork(LengthOf(parent->text)), parent->pin.Fork()};
    sequences_.push_back(std::move(child));
  }

  // Takes back computed tokens that are not in the tree yet.
  void Rewind(Sequence* sequence) {
    const int64_t open = LengthOf(sequence->text) - sequence->pin.tokens();
    sequence->text.resize(sequence->text.size() - static_cast<size_t>(Draw(open + 1)));
  }

  // One step: writes new positions, some of them rejected drafts, and mostly inserts.
  void Extend(Sequence* sequence) {
    const int64_t from = LengthOf(sequence->text);
    const int64_t kept = std::min(Draw(3) == 0 ? DrawLength(70) : Draw(3), kMaxLength - from);
    const int64_t rejected = Draw(4) == 0 ? Draw(8) : 0;
    if (!MakeWritable(sequence, from, from + kept + rejected)) return;
    const std::optional<Text> longer = model_.Longer(sequence->text);
    Text text = longer && Draw(2) == 0 ? *longer : sequence->text;
    text.resize(static_cast<size_t>(from + kept) + 1, static_cast<char>('a' + Draw(3)));
    sequence->text = text;
    const std::vector<uint64_t> contents = ContentsOf(text);
    for (int64_t p = from; p < from + kept + rejected; ++p) {
      At(*sequence, p) = p < from + kept ? contents[static_cast<size_t>(p)] : random_();
    }
    if (Draw(4) > 0) Insert(sequence);
  }

  void Insert(Sequence* sequence) {
    const std::vector<TokenId> tokens = TokensOf(sequence->text);
    const int64_t known = sequence->pin.tokens();
    const int64_t most = std::ssize(tokens) - known;
    const int64_t count = Draw(4) == 0 ? Draw(most + 1) : most;
    const std::span fresh(tokens.data() + known, static_cast<size_t>(count));
    tree_.Insert(&sequence->pin, fresh, &sequence->table);
    ASSERT_EQ(sequence->pin.tokens(), known + count);
    model_.Use(Prefix(sequence->text, known + count), known, now_);
  }

  bool MakeWritable(Sequence* sequence, int64_t from, int64_t to) {
    const int64_t wanted = sequence->table.PagesToWrite(from, to);
    if (wanted > pool_.free_count()) Evict(wanted - pool_.free_count());
    std::vector<PageCopy> copies;
    const int64_t free = pool_.free_count();
    const int64_t needed = sequence->table.PagesToWrite(from, to);
    const bool done = sequence->table.PrepareWrite(from, to, &copies);
    EXPECT_EQ(done, needed <= free);
    EXPECT_EQ(pool_.free_count(), done ? free - needed : free);
    EXPECT_LE(copies.size(), done ? 1u : 0u);
    for (const PageCopy& copy : copies) {
      EXPECT_TRUE(copy.positions >= 1 && copy.positions < kPage);
      auto& page = store_[static_cast<size_t>(copy.to)];
      page.fill(kPoison);
      std::copy_n(store_[static_cast<size_t>(copy.from)].begin(), copy.positions, page.begin());
    }
    return done;
  }

  void Evict(int64_t wanted) {
    const int64_t free = pool_.free_count();
    const int64_t evictable = pool_.evictable_count();
    const int64_t tokens = tree_.token_count();
    const int64_t freed = tree_.Evict(wanted);
    ASSERT_EQ(pool_.free_count() - free, freed);
    ASSERT_GE(freed, std::min(wanted, evictable));
    ASSERT_LE(freed, wanted + 1);
    if (tree_.token_count() == tokens) return;
    std::set<Text> pinned;
    for (const Sequence& s : sequences_) pinned.emplace(Prefix(s.text, s.pin.tokens()));
    model_.Evicted(tree_, pinned);
  }

  void CheckContents(const Sequence& sequence) {
    const std::vector<uint64_t> contents = ContentsOf(sequence.text);
    for (int64_t p = 0; p < std::ssize(contents); ++p) {
      ASSERT_EQ(At(sequence, p), contents[static_cast<size_t>(p)])
          << "position " << p << " of " << sequence.text;
    }
  }

  void PoisonFreed() {
    for (const PageId page : freed_) {
      if (pool_.reference_count(page) == 0) store_[static_cast<size_t>(page)].fill(kPoison);
    }
    freed_.clear();
  }

  uint64_t& At(const Sequence& sequence, int64_t position) {
    const PageId page = sequence.table.pages()[static_cast<size_t>(position / kPage)];
    return store_[static_cast<size_t>(page)][static_cast<size_t>(position % kPage)];
  }

  std::mt19937 random_;
  int64_t now_ = 0;
  std::vector<PageId> freed_;
  std::array<std::array<uint64_t, kPage>, kPages> store_;
  PagePool pool_{kPages};
  PrefixTree tree_{&pool_};
  Model model_;
  std::vector<Sequence> sequences_;
};

TEST(PrefixTreeModel, AgreesWithANaiveMapUnderRandomEvents) {
  constexpr int kWorlds = 10;
  for (unsigned seed = 1; seed <= kWorlds; ++seed) {
    World world(seed);
    for (int event = 0; event < kEvents / kWorlds; ++event) {
      world.RandomEvent();
      world.Check();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", event " << event;
    }
    world.FinishAll();
  }
}

}  // namespace
}  // namespace skald::kv
