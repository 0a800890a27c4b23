#include "grammar/plain_states.h"

#include <algorithm>
#include <array>
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
  PlainSearch(const Leaf& leaf, const Object* object, KeysLeft keys)
      : leaf_(leaf), object_(object), keys_(keys) {
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

  // The greatest numbers of which none is more than its edges leave: of a state between
  // characters one more than where the next one leads.
  std::vector<PlainRoom> Run() {
    // Few passes are enough, as each state stands behind those that it leads to, but for loops.
    constexpr int kPassesMax = 16;
    Sort();
    rooms_.assign(leaf_.size() * kPlaceCount, Room{});
    std::vector<PlainRoom> between(leaf_.size());
    for (int pass = 0; pass < kPassesMax; ++pass) {
      if (Narrow()) continue;
      for (size_t state = 0; state < between.size(); ++state) {
        const Room& room = rooms_[state * kPlaceCount + kBetween];
        between[state] = {.characters = room.least, .exact = room.least == room.most};
      }
      return between;
    }
    return between;
  }

 private:
  // Of whole characters, the one that was begun counted: any so many, and as many as the longest.
  struct Room {
    uint16_t least = PlainRoom::kEndless;
    uint16_t most = PlainRoom::kEndless;

    bool operator==(const Room&) const = default;
  };

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
      for (int place = 0; place < kPlaceCount; ++place) {
        Room& room = rooms_[state * kPlaceCount + place];
        if (room.most == 0) continue;
        const Room now = RoomAt(state, place);
        changed = changed || now != room;
        room = now;
      }
    }
    return changed;
  }

  Room RoomAt(uint32_t state, int place) const {
    Room room = {.most = MayLeave(state) ? PlainRoom::kEndless : uint16_t{0}};
    for (const Edge& edge : edges_[place]) {
      const uint32_t target = leaf_.next[state * leaf_.class_count + edge.byte_class];
      const Room behind =
          target == Leaf::kDead ? Room{0, 0} : Behind(rooms_[target * kPlaceCount + edge.to], edge);
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
  std::array<std::vector<Edge>, kPlaceCount> edges_;
  std::vector<uint32_t> order_;
  std::vector<Room> rooms_;  // [state][place]
};

}  // namespace

std::vector<PlainRoom> PlainRooms(const Rule& rule, KeysLeft keys) {
  if (const auto* leaf = std::get_if<Leaf>(&rule)) return PlainSearch(*leaf, nullptr, keys).Run();
  const auto* object = std::get_if<Object>(&rule);
  if (object == nullptr || object->keys.class_count == 0) return {};
  return PlainSearch(object->keys, object, keys).Run();
}

}  // namespace skald::grammar
