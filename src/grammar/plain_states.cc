#include "grammar/plain_states.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
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

constexpr Utf8Edge kLower = {kBetween, 'a', 'z', kBetween};
constexpr Utf8Edge kUpper = {kBetween, 'A', 'Z', kBetween};
constexpr Utf8Edge kDigits = {kBetween, '0', '9', kBetween};
constexpr Utf8Edge kSpace = {kBetween, ' ', ' ', kBetween};
constexpr Utf8Edge kAlnumEdges[] = {kLower, kUpper, kDigits};
constexpr Utf8Edge kWordsEdges[] = {kSpace, kLower, kUpper, kDigits};
constexpr Utf8Edge kPlainEdges[] = {
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

std::span<const Utf8Edge> EdgesOf(Alphabet alphabet) {
  switch (alphabet) {
    case Alphabet::kLower: return std::span(kAlnumEdges).first(1);
    case Alphabet::kLetters: return std::span(kAlnumEdges).first(2);
    case Alphabet::kAlnum: return kAlnumEdges;
    case Alphabet::kLowerWords: return std::span(kWordsEdges).first(2);
    case Alphabet::kLetterWords: return std::span(kWordsEdges).first(3);
    case Alphabet::kAlnumWords: return kWordsEdges;
    case Alphabet::kPlain: break;
  }
  return kPlainEdges;
}

// An edge of one class of bytes of an automaton.
struct Edge {
  uint32_t byte_class;
  Place to;
};

class PlainSearch {
 public:
  PlainSearch(const Leaf& leaf, const Object* object, KeysLeft keys)
      : leaf_(leaf), object_(object), keys_(keys) {
    Sort();
  }

  // Writes the room of each state, the greatest numbers of which none is more than its edges leave:
  // of a state between characters one more than where the next one leads.
  void Run(Alphabet alphabet, std::vector<StateRoom>* all) {
    TakeEdges(alphabet);
    // Few passes are enough, as each state stands behind those that it leads to, but for loops.
    constexpr int kPassesMax = 16;
    rooms_.assign(leaf_.size() * places_, Room{});
    for (int pass = 0; pass < kPassesMax; ++pass) {
      if (Narrow()) continue;
      for (size_t state = 0; state < all->size(); ++state) {
        const Room& room = rooms_[state * places_ + kBetween];
        (*all)[state][static_cast<size_t>(alphabet)] = {.characters = room.least,
                                                        .exact = room.least == room.most};
      }
      return;
    }
  }

 private:
  // Of whole characters, the one that was begun counted: any so many, and as many as the longest.
  struct Room {
    uint16_t least = PlainRoom::kEndless;
    uint16_t most = PlainRoom::kEndless;

    bool operator==(const Room&) const = default;
  };

  // By classes of bytes, which are ranges: a grammar of many small automata asks for the edges of
  // each seven times.
  void TakeEdges(Alphabet alphabet) {
    places_ = alphabet == Alphabet::kPlain ? kPlaceCount : 1;  // others have one byte a character
    for (std::vector<Edge>& edges : edges_) edges.clear();
    for (const Utf8Edge& edge : EdgesOf(alphabet)) {
      std::vector<Edge>& edges = edges_[edge.from];
      for (uint32_t c = leaf_.class_of[edge.low]; c <= leaf_.class_of[edge.high]; ++c) {
        const auto same = [&](const Edge& one) { return one.byte_class == c && one.to == edge.to; };
        if (std::none_of(edges.begin(), edges.end(), same)) edges.push_back({c, edge.to});
      }
    }
  }

  // Fills `order_`: the order in which a depth-first search from state 0 leaves the states.
  void Sort() {
    struct Open {
      uint32_t state;
      uint32_t byte_class;  // to look at next
    };
    std::vector<uint8_t> met(leaf_.size());
    std::vector<Open> open;
    const auto enter = [&](uint32_t state) {
      if (state == Leaf::kDead || std::exchange(met[state], 1) != 0) return;
      open.push_back({state, 0});
    };
    if (leaf_.size() > 0) enter(0);
    while (!open.empty()) {
      Open& last = open.back();
      if (last.byte_class < leaf_.class_count) {
        enter(leaf_.next[last.state * leaf_.class_count + last.byte_class++]);
      } else {
        order_.push_back(last.state);
        open.pop_back();
      }
    }
  }

  bool Narrow() {
    bool changed = false;
    for (const uint32_t state : order_) {
      for (size_t place = 0; place < places_; ++place) {
        Room& room = rooms_[state * places_ + place];
        if (room.most == 0) continue;
        const Room now = RoomAt(state, place);
        changed = changed || now != room;
        room = now;
      }
    }
    return changed;
  }

  Room RoomAt(uint32_t state, size_t place) const {
    Room room = {.most = MayLeave(state) ? PlainRoom::kEndless : uint16_t{0}};
    for (const Edge& edge : edges_[place]) {
      const uint32_t target = leaf_.next[state * leaf_.class_count + edge.byte_class];
      const Room behind =
          target == Leaf::kDead ? Room{0, 0} : Behind(rooms_[target * places_ + edge.to], edge);
      const bool may_stand = target != Leaf::kDead && MayStand(target);
      room.least = std::min(room.least, may_stand ? behind.least : uint16_t{0});
      room.most = std::max(room.most, behind.most);
      if (room.least == 0 && room.most == PlainRoom::kEndless) break;
    }
    return room;
  }

  // A character is whole only where it may end: no text goes on inside of one.
  static Room Behind(Room room, const Edge& edge) {
    if (edge.to != kBetween) return room;
    if (room.least < PlainRoom::kEndless) ++room.least;
    if (room.most < PlainRoom::kEndless) ++room.most;
    return room;
  }

  // Whether what follows is no longer told by this automaton alone.
  bool MayLeave(uint32_t state) const {
    if (object_ != nullptr) return object_->is_bare || object_->ends[state] != Object::kNoMember;
    return leaf_.accepting[state] != 0 || !leaf_.boundary.empty();
  }

  bool MayStand(uint32_t state) const {
    if (object_ != nullptr) {
      const bool follows =
          keys_ == KeysLeft::kMany ? object_->HasManyKeys(state) : object_->free_keys[state] > 0;
      return object_->ends[state] == Object::kNoMember && follows;
    }
    // The byte that ends a counted leaf asks for the count.
    return leaf_.boundary.empty() || leaf_.ends_between || !leaf_.accepting[state];
  }

  const Leaf& leaf_;
  const Object* object_;
  const KeysLeft keys_;
  size_t places_ = 0;  // of which rooms are known
  std::array<std::vector<Edge>, kPlaceCount> edges_;
  std::vector<uint32_t> order_;
  std::vector<Room> rooms_;  // [state][place]
};

}  // namespace

std::vector<StateRoom> PlainRooms(const Rule& rule, KeysLeft keys) {
  const auto* object = std::get_if<Object>(&rule);
  const Leaf* leaf = object != nullptr ? &object->keys : std::get_if<Leaf>(&rule);
  if (leaf == nullptr || (object != nullptr && leaf->class_count == 0)) return {};
  std::vector<StateRoom> rooms(leaf->size());
  PlainSearch search(*leaf, object, keys);
  for (size_t alphabet = 0; alphabet < kAlphabetCount; ++alphabet)
    search.Run(static_cast<Alphabet>(alphabet), &rooms);
  return rooms;
}

}  // namespace skald::grammar
