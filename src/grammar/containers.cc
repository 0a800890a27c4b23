#include "grammar/containers.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "grammar/key_rules.h"

namespace skald::grammar {

namespace {

// Numbers of white space: nothing, a space, a newline and 0 to 32 spaces, or 1 to 8 tabs.
constexpr uint32_t kNoBlank = 0;
constexpr uint32_t kOneSpace = 1;
constexpr uint32_t kNewline = 2;
constexpr uint32_t kLastSpaces = kNewline + 32;
constexpr uint32_t kFirstTab = kLastSpaces + 1;
constexpr uint32_t kLastTab = kFirstTab + 7;
static_assert(kLastTab < 64);

std::optional<uint32_t> NextBlank(Blanks blanks, uint32_t so_far, uint8_t byte) {
  if (blanks == Blanks::kNone) return std::nullopt;
  if (so_far == kNoBlank && byte == ' ') return kOneSpace;
  if (so_far == kNoBlank && byte == '\n') return kNewline;
  if (so_far >= kNewline && so_far < kLastSpaces && byte == ' ') return so_far + 1;
  if (so_far == kNewline && byte == '\t') return kFirstTab;
  if (so_far >= kFirstTab && so_far < kLastTab && byte == '\t') return so_far + 1;
  return std::nullopt;
}

Item At(const Item& item, const Place& place) {
  Item moved = item;
  moved.state = place.state();
  return moved;
}

// White space at a place that keeps its phase.
std::optional<Item> ReadBlank(Blanks blanks, const Item& item, Place place, uint8_t byte) {
  const std::optional<uint32_t> next = NextBlank(blanks, place.blanks, byte);
  if (!next.has_value()) return std::nullopt;
  place.blanks = *next;
  return At(item, place);
}

// Behind a value: white space that only the end may follow, as nothing stands before a comma.
std::optional<Item> ReadClosingBlank(Blanks blanks, const Item& item, uint8_t byte) {
  return ReadBlank(blanks, item, {.phase = Phase::kClosing}, byte);
}

uint32_t ElementRule(const Array& array, uint32_t index) {
  return index < array.prefix.size() ? array.prefix[index] : array.rest;
}

// Whether a value of `rule` fits: `depth` is that of the container around it.
bool Fits(const Form& form, uint32_t rule, uint32_t depth) {
  return rule != kNoRule && form.depths[rule] != Form::kNever &&
         form.depths[rule] + depth <= kTextDepthMax;
}

bool MayHaveElement(const Form& form, const Array& array, const Item& item) {
  return item.count < array.max && Fits(form, ElementRule(array, item.count), item.context->depth);
}

std::optional<Item> Read(const Form& form, const Array& array, const Item& item, uint8_t byte) {
  const Place place = Place::Of(item.state);
  const bool may_end = item.count >= array.min;
  switch (place.phase) {
    case Phase::kOpen:
      if (byte != '[') return std::nullopt;
      return At(item, {.phase = Phase::kFirst});
    case Phase::kFirst:
    case Phase::kClosing:
      if (byte == ']' && may_end) return At(item, {.phase = Phase::kDone});
      if (place.phase == Phase::kFirst || may_end)
        return ReadBlank(array.blanks, item, place, byte);
      return std::nullopt;
    case Phase::kNext: return ReadBlank(array.blanks, item, place, byte);
    case Phase::kMember:
      if (byte == ',' && MayHaveElement(form, array, item))
        return At(item, {.phase = Phase::kNext});
      if (!may_end) return std::nullopt;
      if (byte == ']') return At(item, {.phase = Phase::kDone});
      return ReadClosingBlank(array.blanks, item, byte);
    default: return std::nullopt;
  }
}

// A byte of a key of a bare object. The key may end at the state, and also go on.
std::optional<Item> ReadBareKey(const KeyRules& rules, const Item& item, uint32_t state,
                                uint8_t byte) {
  const uint32_t next = rules.object().keys.Next(state, byte);
  if (next == Leaf::kDead) return std::nullopt;
  KeyPointer key;
  if (rules.RemembersKeys())
    key = std::make_shared<const KeyText>(item.run == nullptr ? nullptr : item.run->key,
                                          static_cast<char>(byte));
  if (!rules.MayGoOn(item.run.get(), next, key.get())) return std::nullopt;
  Item moved = At(item, {.phase = Phase::kKey, .index = next});
  if (key != nullptr) moved.run = rules.WithKey(item.run.get(), std::move(key));
  return moved;
}

std::optional<Item> ReadBare(const KeyRules& rules, const Item& item, uint8_t byte) {
  const Place place = Place::Of(item.state);
  if (place.phase == Phase::kNext) return ReadBareKey(rules, item, 0, byte);
  return place.phase == Phase::kKey ? ReadBareKey(rules, item, place.index, byte) : std::nullopt;
}

// What stands in front of a key of a bare object, or behind it.
std::optional<Element> NextOfBare(const KeyRules& rules, const Item& item) {
  const Object& object = rules.object();
  const Place place = Place::Of(item.state);
  if (place.phase == Phase::kOpen || place.phase == Phase::kMember) {
    if (!rules.MayHaveKey(item.run.get())) return std::nullopt;
    const bool is_first = place.phase == Phase::kOpen;
    return Element{is_first ? object.before_first : object.before_next,
                   At(item, {.phase = Phase::kNext})};
  }
  if (place.phase != Phase::kKey) return std::nullopt;
  const uint32_t member = object.ends[place.index];
  const KeyPointer key = item.run == nullptr ? nullptr : item.run->key;
  if (member == Object::kNoMember || !rules.MayEnd(item.run.get(), member, key.get()))
    return std::nullopt;
  Item after = At(item, {.phase = Phase::kMember});
  after.run = rules.WithMember(item.run.get(), member, key);
  return Element{object.members[member].rule, std::move(after)};
}

// A byte of a key, the opening quote first.
std::optional<Item> ReadKey(const KeyRules& rules, const Item& item, uint32_t state, uint8_t byte) {
  const Object& object = rules.object();
  const uint32_t next = object.keys.Next(state, byte);
  if (next == Leaf::kDead) return std::nullopt;
  Item moved = item;
  KeyPointer key;
  if (rules.RemembersKeys())
    key = std::make_shared<const KeyText>(item.run == nullptr ? nullptr : item.run->key,
                                          static_cast<char>(byte));
  const uint32_t member = object.ends[next];
  if (member == Object::kNoMember) {
    if (!rules.MayGoOn(item.run.get(), next, key.get())) return std::nullopt;
    moved.state = Place{.phase = Phase::kKey, .index = next}.state();
    if (key != nullptr) moved.run = rules.WithKey(item.run.get(), std::move(key));
    return moved;
  }
  if (!rules.MayEnd(item.run.get(), member, key.get())) return std::nullopt;
  moved.state = Place{.phase = Phase::kColon, .index = member}.state();
  moved.run = rules.WithMember(item.run.get(), member, std::move(key));
  return moved;
}

std::optional<Item> ReadEnd(const KeyRules& rules, const Item& item, uint8_t byte) {
  if (byte != '}' || !rules.MayClose(item.run.get())) return std::nullopt;
  return At(item, {.phase = Phase::kDone});
}

std::optional<Item> Read(const Form& form, const Object& object, const Item& item, uint8_t byte) {
  const Place place = Place::Of(item.state);
  const KeyRules rules(form, object, item.context->depth);
  if (object.is_bare) return ReadBare(rules, item, byte);
  switch (place.phase) {
    case Phase::kOpen:
      if (byte != '{') return std::nullopt;
      return At(item, {.phase = Phase::kFirst});
    case Phase::kFirst:
    case Phase::kNext:
      if (byte == '"') return ReadKey(rules, item, 0, byte);
      if (byte == '}') {
        return place.phase == Phase::kFirst ? ReadEnd(rules, item, byte) : std::nullopt;
      }
      return ReadBlank(object.blanks, item, place, byte);
    case Phase::kKey: return ReadKey(rules, item, place.index, byte);
    case Phase::kColon:
      if (byte != ':') return std::nullopt;
      return At(item, {.phase = Phase::kValue, .index = place.index});
    case Phase::kValue: return ReadBlank(object.blanks, item, place, byte);
    case Phase::kMember:
      if (byte == ',' && rules.MayHaveKey(item.run.get())) return At(item, {.phase = Phase::kNext});
      if (byte == '}') return ReadEnd(rules, item, byte);
      if (!rules.MayClose(item.run.get())) return std::nullopt;
      return ReadClosingBlank(object.blanks, item, byte);
    case Phase::kClosing:
      if (byte == '}') return ReadEnd(rules, item, byte);
      return ReadBlank(object.blanks, item, place, byte);
    case Phase::kDone: return std::nullopt;
  }
  return std::nullopt;
}

// Whether `byte` may be something of a container outside of its keys. Keys of a bare object have no
// quotes: they begin with any byte.
bool MayBePunctuation(const Rule& rule, uint8_t byte) {
  const auto* object = std::get_if<Object>(&rule);
  if (object != nullptr && object->is_bare) return true;
  constexpr std::string_view kPunctuation = "{}[],:\" \n\t";
  return kPunctuation.find(static_cast<char>(byte)) != std::string_view::npos;
}

}  // namespace

std::optional<Item> ReadContainerByte(const Form& form, const Item& item, uint8_t byte) {
  // Outside of keys few bytes are anything at all, and masks ask for each of 256.
  if (Place::Of(item.state).phase != Phase::kKey && !MayBePunctuation(form.rules[item.rule], byte))
    return std::nullopt;
  if (const auto* array = std::get_if<Array>(&form.rules[item.rule]))
    return Read(form, *array, item, byte);
  return Read(form, std::get<Object>(form.rules[item.rule]), item, byte);
}

bool MayStandInBlanks(const Form& form, const Item& item) {
  const auto* object = std::get_if<Object>(&form.rules[item.rule]);
  const Blanks blanks =
      object != nullptr ? object->blanks : std::get<Array>(form.rules[item.rule]).blanks;
  if (blanks == Blanks::kNone || (object != nullptr && object->is_bare)) return false;
  // Behind a member white space leads to another phase, where only the end may follow.
  const Phase phase = Place::Of(item.state).phase;
  return phase == Phase::kFirst || phase == Phase::kNext || phase == Phase::kValue ||
         phase == Phase::kClosing;
}

bool MayEndContainer(const Form& form, const Item& item) {
  const Phase phase = Place::Of(item.state).phase;
  const auto* object = std::get_if<Object>(&form.rules[item.rule]);
  if (object == nullptr || !object->is_bare) return phase == Phase::kDone;
  return (phase == Phase::kOpen || phase == Phase::kMember) &&
         KeyRules(form, *object, item.context->depth).MayClose(item.run.get());
}

bool TakesContainerByte(const Form& form, const Item& item) {
  const Phase phase = Place::Of(item.state).phase;
  const auto* object = std::get_if<Object>(&form.rules[item.rule]);
  if (object == nullptr || !object->is_bare) return phase != Phase::kDone;
  return phase == Phase::kNext || phase == Phase::kKey;
}

std::optional<Element> NextElement(const Form& form, const Item& item) {
  const Place place = Place::Of(item.state);
  Item after = At(item, {.phase = Phase::kMember});
  if (const auto* array = std::get_if<Array>(&form.rules[item.rule])) {
    const bool has_place = place.phase == Phase::kFirst || place.phase == Phase::kNext;
    if (!has_place || !MayHaveElement(form, *array, item)) return std::nullopt;
    // Beyond the last number that tells anything the count stays.
    const auto last = array->max != kUnbounded
                          ? array->max
                          : std::max(array->min, static_cast<uint32_t>(array->prefix.size()));
    after.count = std::min(item.count + 1, last);
    return Element{ElementRule(*array, item.count), std::move(after)};
  }
  const Object& object = std::get<Object>(form.rules[item.rule]);
  if (object.is_bare) return NextOfBare(KeyRules(form, object, item.context->depth), item);
  if (place.phase != Phase::kValue) return std::nullopt;
  return Element{object.members[place.index].rule, std::move(after)};
}

}  // namespace skald::grammar
