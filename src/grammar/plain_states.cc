#include "grammar/plain_states.h"

#include <algorithm>
#include <array>
#include <variant>

namespace skald::grammar {

namespace {

// Where in a character bytes are (The Unicode Standard 15, table 3-7).
enum Place : uint8_t {
  kBetween,    // characters
  kLast,       // one more byte
  kLastTwo,    // two more
  kLastThree,  // three more
  kAfterE0,    // two more, nothing overlong
  kAfterEd,    // two more, no surrogate
  kAfterF0,    // three more, nothing overlong
  kAfterF4,    // three more, nothing above U+10FFFF
  kPlaceCount,
};

struct Utf8Edge {
  Place from;
  uint8_t low;
  uint8_t high;
  Place to;
};

constexpr Utf8Edge kEdges[] = {
    {kBetween, 0x20, 0x21, kBetween}, {kBetween, 0x23, 0x5B, kBetween},
    {kBetween, 0x5D, 0x7F, kBetween}, {kBetween, 0xC2, 0xDF, kLast},
    {kBetween, 0xE0, 0xE0, kAfterE0}, {kBetween, 0xE1, 0xEC, kLastTwo},
    {kBetween, 0xED, 0xED, kAfterEd}, {kBetween, 0xEE, 0xEF, kLastTwo},
    {kBetween, 0xF0, 0xF0, kAfterF0}, {kBetween, 0xF1, 0xF3, kLastThree},
    {kBetween, 0xF4, 0xF4, kAfterF4}, {kLast, 0x80, 0xBF, kBetween},
    {kLastTwo, 0x80, 0xBF, kLast},    {kLastThree, 0x80, 0xBF, kLastTwo},
    {kAfterE0, 0xA0, 0xBF, kLast},    {kAfterEd, 0x80, 0x9F, kLast},
    {kAfterF0, 0x90, 0xBF, kLastTwo}, {kAfterF4, 0x80, 0x8F, kLastTwo},
};

// An edge of one class of bytes of an automaton.
struct Edge {
  uint32_t byte_class;
  Place to;
};

class PlainSearch {
 public:
  PlainSearch(const Leaf& leaf, const Object* object) : leaf_(leaf), object_(object) {
    for (const Utf8Edge& edge : kEdges) {
      for (int byte = edge.low; byte <= edge.high; ++byte) {
        std::vector<Edge>& edges = edges_[edge.from];
        const auto same = [&](const Edge& one) {
          return one.byte_class == leaf.class_of[byte] && one.to == edge.to;
        };
        if (std::none_of(edges.begin(), edges.end(), same))
          edges.push_back({leaf.class_of[byte], edge.to});
      }
    }
  }

  // The greatest set of states whose edges all lead into it.
  std::vector<uint8_t> Run() {
    // Mostly states lead to later ones, so that few passes from the last one on are enough.
    constexpr int kPassesMax = 16;
    plain_.assign(leaf_.size(), ~uint8_t{0});
    for (int pass = 0; pass < kPassesMax; ++pass) {
      if (Narrow()) continue;
      for (uint8_t& places : plain_) places &= 1 << kBetween;
      return plain_;
    }
    return std::vector<uint8_t>(leaf_.size());
  }

 private:
  bool Narrow() {
    bool changed = false;
    for (uint32_t state = static_cast<uint32_t>(leaf_.size()); state-- > 0;) {
      for (int place = 0; place < kPlaceCount; ++place) {
        const auto bit = static_cast<uint8_t>(1 << place);
        if ((plain_[state] & bit) == 0 || Leads(state, place)) continue;
        plain_[state] &= static_cast<uint8_t>(~bit);
        changed = true;
      }
    }
    return changed;
  }

  bool Leads(uint32_t state, int place) const {
    return std::all_of(edges_[place].begin(), edges_[place].end(), [&](const Edge& edge) {
      const uint32_t target = leaf_.next[state * leaf_.class_count + edge.byte_class];
      return target != Leaf::kDead && MayStand(target) && (plain_[target] & (1 << edge.to)) != 0;
    });
  }

  bool MayStand(uint32_t state) const {
    if (object_ != nullptr)
      return object_->ends[state] == Object::kNoMember &&
             object_->free_keys[state] == Object::kEndless;
    // The byte that ends a counted leaf asks for the count.
    return leaf_.boundary.empty() || leaf_.ends_between || !leaf_.accepting[state];
  }

  const Leaf& leaf_;
  const Object* object_;
  std::array<std::vector<Edge>, kPlaceCount> edges_;
  std::vector<uint8_t> plain_;  // [state]: a bit for each place
};

}  // namespace

std::vector<uint8_t> PlainStates(const Rule& rule) {
  if (const auto* leaf = std::get_if<Leaf>(&rule)) return PlainSearch(*leaf, nullptr).Run();
  const auto* object = std::get_if<Object>(&rule);
  if (object == nullptr || object->keys.class_count == 0) return {};
  return PlainSearch(object->keys, object).Run();
}

}  // namespace skald::grammar
