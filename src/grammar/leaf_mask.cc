#include "grammar/leaf_mask.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "grammar/common_masks.h"

namespace skald::grammar {

namespace {

// More than any leaf has that is written as a string of JSON. Identifiers, which may end anywhere,
// have ten times as many, and are walked.
constexpr size_t kLeavingMax = size_t{1} << 15;

// A step of a walk takes some 10 ns, a token to be sorted and put into a tree some 100.
constexpr int64_t kStepsOfSorting = 10;

void Set(std::span<const TokenId> tokens, LeafMask* mask) {
  for (const TokenId token : tokens) mask->inside[token >> 6] |= uint64_t{1} << (token & 63);
}

// Whether `bytes`, which end a key in quotes, may end another key, too: behind a comma that one has
// two quotes of its own. Says yes too often rather than too seldom.
bool MayEndTwoKeys(std::string_view bytes) {
  const size_t comma = bytes.find(',', bytes.find('"'));
  if (comma == std::string_view::npos) return false;
  return std::count(bytes.begin() + static_cast<ptrdiff_t>(comma), bytes.end(), '"') >= 2;
}

// Where a byte leads.
struct Edge {
  std::span<const uint32_t> states;  // [bytes read], those before it
  uint32_t next;
  uint8_t byte;
};

// Walks the trees of all tokens. Rule: Next, the state behind a byte; StaysInside, whether a text
// stays in the leaf there; Leave, what becomes of the tokens that do not.
template <typename Rule>
class Maker {
 public:
  Maker(const TokenTable& tokens, const Rule& rule, uint32_t state, Fuel* work)
      : tokens_(tokens), rule_(rule), work_(*work), states_(TokenTrie::kTokenBytesMax + 1, state) {}

  // Null if the fuel ran dry.
  std::shared_ptr<const LeafMask> Make(const StateRoom& room) {
    made_.inside.resize(tokens_.mask_words());
    for (const TokenSlice& slice : tokens_.slices()) {
      const auto whole = Whole(slice, room);
      if (whole.has_value()) {
        for (size_t i = 0; i < whole->size(); ++i) made_.inside[i] |= (*whole)[i];
      } else {
        Walk(slice.trie);
      }
      if (work_.IsSpent()) return nullptr;
      if (leaving_.size() > kLeavingMax)
        return std::make_shared<const LeafMask>(LeafMask{.steps = made_.steps, .too_many = true});
    }
    // Sorting them takes longer than walking to them.
    if (!work_.Spend(kStepsOfSorting * std::ssize(leaving_))) return nullptr;
    made_.ends_two_keys = std::any_of(leaving_.begin(), leaving_.end(), [](const TokenText& token) {
      return MayEndTwoKeys(token.bytes);
    });
    made_.leaving = TokenTrie(std::move(leaving_));
    return std::make_shared<const LeafMask>(std::move(made_));
  }

 private:
  // What `room` says of all tokens of a slice; nothing: only a walk tells.
  static std::optional<std::span<const uint64_t>> Whole(const TokenSlice& slice,
                                                        const StateRoom& room) {
    if (!slice.alphabet.has_value()) return std::nullopt;
    const PlainRoom& plain = room[static_cast<size_t>(*slice.alphabet)];
    const bool is_known = plain.exact || slice.characters <= plain.characters;
    return is_known ? slice.UpTo(plain.characters) : std::nullopt;
  }

  void Walk(const TokenTrie& trie) {
    trie.Walk([&](size_t depth, uint32_t node) {
      const std::span<const uint32_t> states = std::span(states_).first(depth + 1);
      const uint8_t byte = trie.byte(node);
      const Edge edge = {states, rule_.Next(states.back(), byte), byte};
      ++made_.steps;
      if (!work_.Spend(1)) return TokenTrie::Then::kStop;
      if (!rule_.StaysInside(edge)) {
        rule_.Leave(edge, trie.TokensBelow(node), &leaving_);
        return leaving_.size() > kLeavingMax ? TokenTrie::Then::kStop : TokenTrie::Then::kPast;
      }
      states_[depth + 1] = edge.next;
      made_.longest = std::max(made_.longest, depth + 1);
      Set(trie.TokensAt(node), &made_);
      return TokenTrie::Then::kBelow;
    });
  }

  const TokenTable& tokens_;
  const Rule rule_;
  Fuel& work_;
  std::vector<uint32_t> states_;  // [bytes read], as far as the walk has come
  std::vector<TokenText> leaving_;
  LeafMask made_;
};

struct LeafRule {
  const TokenTable& tokens;
  const Leaf& leaf;

  uint32_t Next(uint32_t state, uint8_t byte) const { return leaf.Next(state, byte); }
  bool StaysInside(const Edge& edge) const { return edge.next != Leaf::kDead; }

  // Where the leaf may end on the way, `leavers` leave it there.
  void Leave(const Edge& edge, std::span<const TokenId> leavers,
             std::vector<TokenText>* leaving) const {
    for (size_t depth = 1; depth < edge.states.size(); ++depth) {
      if (!leaf.accepting[edge.states[depth]]) continue;
      for (const TokenId token : leavers)
        leaving->push_back({tokens.BytesOf(token).substr(depth), token});
      if (leaving->size() > kLeavingMax) return;
    }
  }
};

struct KeyRule {
  const TokenTable& tokens;
  const Object& object;
  KeysLeft keys;

  uint32_t Next(uint32_t state, uint8_t byte) const { return object.keys.Next(state, byte); }

  bool StaysInside(const Edge& edge) const {
    if (edge.next == Leaf::kDead || !MayGoOn(edge.next)) return false;
    return !MayEndBefore(edge);
  }

  bool MayGoOn(uint32_t state) const {
    if (keys == KeysLeft::kMany) return object.HasManyKeys(state);
    return object.free_keys[state] > 0 && object.ends[state] == Object::kNoMember;
  }

  // Whether a bare key may end at the last state and the byte stand behind it.
  bool MayEndBefore(const Edge& edge) const {
    return object.is_bare && object.ends[edge.states.back()] != Object::kNoMember &&
           object.behind_keys[edge.byte];
  }

  void Leave(const Edge& edge, std::span<const TokenId> leavers,
             std::vector<TokenText>* leaving) const {
    if (edge.next == Leaf::kDead && !MayEndBefore(edge)) return;
    // Behind the quotation mark that ends a key stands a colon.
    const bool is_end = !object.is_bare && object.ends[edge.next] != Object::kNoMember;
    const size_t depth = edge.states.size();
    for (const TokenId token : leavers) {
      const std::string_view bytes = tokens.BytesOf(token);
      if (is_end && bytes.size() > depth && bytes[depth] != ':') continue;
      leaving->push_back({bytes, token});
    }
  }
};

}  // namespace

size_t LeafMask::bytes() const {
  return sizeof(LeafMask) + inside.size() * sizeof(uint64_t) + leaving.bytes();
}

std::shared_ptr<const LeafMask> MakeMask(const Form& form, const TokenTable& tokens,
                                         const LeafState& place, Fuel* work) {
  const Rule& rule = form.rules[place.rule];
  if (const auto* leaf = std::get_if<Leaf>(&rule))
    return Maker(tokens, LeafRule{tokens, *leaf}, place.state, work).Make(place.plain);
  const KeyRule keys = {tokens, std::get<Object>(rule), place.keys};
  return Maker(tokens, keys, place.state, work).Make(place.plain);
}

std::shared_ptr<const LeafMask> LeafMasks::Get(const Form& form, const TokenTable& tokens,
                                               const LeafState& place, Fuel* work) {
  const uint64_t keys = place.keys == KeysLeft::kAny ? 1 : 0;
  const uint64_t key = uint64_t{place.rule} << 33 | keys << 32 | place.state;
  {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
  }
  // Two threads may make the same one; both come to the same.
  std::shared_ptr<const LeafMask> mask = tokens.common_masks().Get(form, tokens, place, work);
  const bool is_common = mask != nullptr;
  if (!is_common) mask = MakeMask(form, tokens, place, work);
  if (mask == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  const size_t bytes = is_common ? 0 : mask->bytes();
  if (bytes_ + bytes <= kBytesMax && made_.emplace(key, mask).second) bytes_ += bytes;
  return mask;
}

size_t LeafMasks::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace skald::grammar
