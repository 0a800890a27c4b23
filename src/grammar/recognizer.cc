#include "grammar/recognizer.h"

#include <optional>
#include <utility>
#include <variant>

#include "grammar/closure.h"
#include "grammar/containers.h"

namespace skald::grammar {

namespace {

// What `item` becomes behind `byte`; nothing if that may not follow. Not for an Automaton.
std::optional<Item> Step(const Form& form, const Item& item, uint8_t byte) {
  const auto* leaf = std::get_if<Leaf>(&form.rules[item.rule]);
  if (leaf == nullptr) return ReadContainerByte(form, item, byte);
  uint32_t count = item.count;
  const uint32_t state = leaf->NextCounted(item.state, byte, &count);
  // Most bytes lead nowhere, and an item is no small thing to copy.
  if (state == Leaf::kDead) return std::nullopt;
  Item moved = item;
  moved.state = state;
  moved.count = count;
  return moved;
}

// Adds to `closure` what `item` becomes behind `byte`. Most bytes lead nowhere: it is made only
// when one does.
void Scan(const Form& form, const Item& item, uint8_t byte, std::optional<Closure>* closure) {
  const auto add = [&](const Item& moved) {
    if (!closure->has_value()) closure->emplace(form);
    (*closure)->Add(moved);
  };
  const auto* automaton = std::get_if<Automaton>(&form.rules[item.rule]);
  if (automaton == nullptr) {
    const std::optional<Item> moved = Step(form, item, byte);
    if (moved.has_value()) add(*moved);
    return;
  }
  for (const ByteEdge& edge : automaton->states[item.state].bytes)
    if (edge.low <= byte && byte <= edge.high) add({item.rule, edge.target, 0, item.context});
}

// Reads bytes that stay inside of the leaf of `item` without coming to a place where it may end.
// Moves the item; returns how many there were.
size_t ReadInsideLeaf(const Leaf& leaf, std::string_view bytes, Item* item) {
  size_t taken = 0;
  for (; taken < bytes.size(); ++taken) {
    uint32_t count = item->count;
    const uint32_t next = leaf.NextCounted(item->state, static_cast<uint8_t>(bytes[taken]), &count);
    if (next == Leaf::kDead || leaf.accepting[next]) break;
    item->state = next;
    item->count = count;
  }
  return taken;
}

// The same for a row with one item; null where it has others or nothing was read.
RowPointer ReadInsideLeaf(const Form& form, const Row& row, std::string_view bytes, size_t* taken) {
  if (row.items.size() != 1) return nullptr;
  Item item = row.items.front();
  const auto* leaf = std::get_if<Leaf>(&form.rules[item.rule]);
  if (leaf == nullptr) return nullptr;
  *taken = ReadInsideLeaf(*leaf, bytes, &item);
  if (*taken == 0) return nullptr;
  return std::make_shared<const Row>(
      Row{.items = {item}, .frames = row.frames, .begins_in_leaf = true});
}

}  // namespace

RowPointer FirstRow(const Form& form) {
  Closure closure(form);
  closure.AddRoot();
  return closure.Finish();
}

RowPointer NextRow(const Form& form, const Row& row, uint8_t byte) {
  std::optional<Closure> closure;
  for (const Item& item : row.items) Scan(form, item, byte, &closure);
  return closure.has_value() ? closure->Finish() : nullptr;
}

RowPointer RowBehindToken(const Form& form, const Row& row, TokenId token) {
  Closure closure(form);
  for (const Item& item : row.items) {
    const auto* automaton = std::get_if<Automaton>(&form.rules[item.rule]);
    if (automaton == nullptr) continue;
    for (const TokenEdge& edge : automaton->states[item.state].tokens)
      if (edge.token == token) closure.Add({item.rule, edge.target, 0, item.context});
  }
  return closure.Finish();
}

std::vector<TokenId> NextTokens(const Form& form, const Row& row) {
  std::vector<TokenId> tokens;
  for (const Item& item : row.items) {
    const auto* automaton = std::get_if<Automaton>(&form.rules[item.rule]);
    if (automaton == nullptr) continue;
    for (const TokenEdge& edge : automaton->states[item.state].tokens) tokens.push_back(edge.token);
  }
  return tokens;
}

RowPointer RowOf(const Form& form, const Item& item) {
  Closure closure(form);
  closure.Add(item);
  return closure.Finish();
}

RowPointer RowBehind(const Form& form, const Context* context) {
  Closure closure(form);
  closure.AddFinished(context);
  return closure.Finish();
}

Reading ReadBytes(const Form& form, const RowPointer& row, std::string_view bytes) {
  Reading reading{row, 0};
  while (reading.taken < bytes.size() && !reading.row->too_complex) {
    size_t taken = 0;
    RowPointer next = ReadInsideLeaf(form, *reading.row, bytes.substr(reading.taken), &taken);
    if (next == nullptr) {
      next = NextRow(form, *reading.row, static_cast<uint8_t>(bytes[reading.taken]));
      taken = 1;
    }
    if (next == nullptr) break;
    reading = {std::move(next), reading.taken + taken};
  }
  return reading;
}

std::bitset<256> NextBytes(const Form& form, const Row& row, size_t enough) {
  std::bitset<256> bytes;
  size_t found = 0;
  const auto add = [&](int byte) {
    found += size_t{!bytes[byte]};
    bytes.set(byte);
  };
  for (const Item& item : row.items) {
    if (const auto* automaton = std::get_if<Automaton>(&form.rules[item.rule])) {
      for (const ByteEdge& edge : automaton->states[item.state].bytes)
        for (int byte = edge.low; byte <= edge.high && found < enough; ++byte) add(byte);
      continue;
    }
    for (int byte = 0; byte < 256 && found < enough; ++byte)
      if (!bytes[byte] && Step(form, item, static_cast<uint8_t>(byte)).has_value()) add(byte);
  }
  return bytes;
}

}  // namespace skald::grammar
