#include "grammar/common_masks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "grammar/plain_states.h"
#include "skald/grammar.h"

namespace skald::grammar {

namespace {

// A number of JSON, the largest one that is common, has less than half as many.
constexpr size_t kStatesMax = 128;

// What JSON itself has: any value; keys beside declared ones; numbers, and texts that are counted.
constexpr std::string_view kSchemas[] = {
    "true",
    R"({"properties":{"a":{"type":"integer"},"b":{"type":"string","maxLength":1000}}})",
    R"({"properties":{"a":{"type":"string"},"b":{"type":"number"}},"additionalProperties":false})",
    R"({"type":"string","minLength":1})",
};

const Leaf& LeafOf(const Rule& rule) {
  const auto* leaf = std::get_if<Leaf>(&rule);
  return leaf != nullptr ? *leaf : std::get<Object>(rule).keys;
}

// What a mask asks of a state beside where its bytes lead.
char MarkOf(const Rule& rule, uint32_t state) {
  if (const auto* leaf = std::get_if<Leaf>(&rule)) return leaf->accepting[state] ? 'A' : '-';
  const Object& object = std::get<Object>(rule);
  const int ends = object.ends[state] != Object::kNoMember ? 1 : 0;
  const int many = object.HasManyKeys(state) ? 1 : 0;
  return static_cast<char>('0' + 4 * ends + 2 * many + (object.free_keys[state] > 0 ? 1 : 0));
}

// The states below one, numbered as they are met. Two leaves may sort bytes into classes in
// different ways: so edges are written as ranges of bytes.
class Shape {
 public:
  Shape(const Rule& rule, uint32_t state) : rule_(rule), leaf_(LeafOf(rule)), met_{state} {
    for (int byte = 0; byte < 256; ++byte)
      if (byte == 0 || leaf_.class_of[byte] != leaf_.class_of[byte - 1])
        begins_.push_back(static_cast<uint8_t>(byte));
  }

  std::string Write() {
    for (size_t i = 0; i < met_.size(); ++i) {
      WriteState(met_[i]);
      if (met_.size() > kStatesMax) return {};
    }
    return std::move(text_);
  }

 private:
  void WriteState(uint32_t state) {
    text_.push_back(MarkOf(rule_, state));
    const size_t count_at = text_.size();
    text_.append(2, '\0');
    uint32_t ranges = 0;  // at most 256
    uint32_t before = Leaf::kDead;
    for (const uint8_t byte : begins_) {
      const uint32_t next = leaf_.Next(state, byte);
      if (next == before) continue;
      before = next;
      ++ranges;
      text_.push_back(static_cast<char>(byte));
      text_.push_back(static_cast<char>(NumberOf(next)));
    }
    text_[count_at] = static_cast<char>(ranges & 255);
    text_[count_at + 1] = static_cast<char>(ranges >> 8);
  }

  // 255: dead.
  uint8_t NumberOf(uint32_t state) {
    static_assert(kStatesMax < 254);
    if (state == Leaf::kDead) return 255;
    const auto found = std::find(met_.begin(), met_.end(), state);
    const auto number = static_cast<size_t>(found - met_.begin());
    if (found == met_.end()) met_.push_back(state);
    return static_cast<uint8_t>(std::min<size_t>(number, 254));
  }

  const Rule& rule_;
  const Leaf& leaf_;
  std::vector<uint32_t> met_;
  std::vector<uint8_t> begins_;  // of ranges of bytes that are one class
  std::string text_;
};

}  // namespace

std::string ShapeOf(const Rule& rule, const LeafState& place) {
  const auto* object = std::get_if<Object>(&rule);
  if (object != nullptr && object->is_bare) return {};
  std::string shape = Shape(rule, place.state).Write();
  // What is taken whole is not walked, which is counted.
  if (!shape.empty()) {
    for (const PlainRoom& room : place.plain) {
      shape.push_back(static_cast<char>(room.characters & 255));
      shape.push_back(static_cast<char>(room.characters >> 8));
      shape.push_back(room.exact ? 'E' : '-');
    }
    shape.push_back(place.keys == KeysLeft::kMany ? 'M' : 'A');
  }
  return shape;
}

CommonMasks::CommonMasks() {
  for (const std::string_view schema : kSchemas) {
    const Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
    CHECK(grammar.ok());
    AddShapes(grammar->form());
  }
}

void CommonMasks::AddShapes(const Form& form) {
  for (uint32_t i = 0; i < form.rules.size(); ++i) {
    const Rule& rule = form.rules[i];
    for (const KeysLeft keys : {KeysLeft::kMany, KeysLeft::kAny}) {
      const std::vector<StateRoom> plain = PlainRooms(rule, keys);
      for (uint32_t state = 0; state < plain.size(); ++state) {
        std::string shape =
            ShapeOf(rule, {.rule = i, .state = state, .plain = plain[state], .keys = keys});
        if (!shape.empty()) made_.emplace(std::move(shape), nullptr);
      }
    }
  }
}

std::shared_ptr<const LeafMask> CommonMasks::Get(const Form& form, const TokenTable& tokens,
                                                 const LeafState& place, Fuel* work) {
  const std::string shape = ShapeOf(form.rules[place.rule], place);
  {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(shape);
    if (found == made_.end() || found->second != nullptr)
      return found == made_.end() ? nullptr : found->second;
  }
  // Two threads may make the same one; both come to the same.
  std::shared_ptr<const LeafMask> mask = MakeMask(form, tokens, place, work);
  if (mask == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  return made_.at(shape) = std::move(mask);
}

}  // namespace skald::grammar
