#include "grammar/memory_bytes.h"

#include <variant>
#include <vector>

namespace skald::grammar {

namespace {

template <typename T>
size_t Bytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

size_t Held(const Leaf& leaf) {
  return Bytes(leaf.next) + Bytes(leaf.accepting) + Bytes(leaf.goes_on) + Bytes(leaf.boundary);
}

size_t Held(const Automaton& automaton) {
  size_t bytes = Bytes(automaton.states);
  for (const AutomatonState& state : automaton.states)
    bytes += Bytes(state.bytes) + Bytes(state.tokens) + Bytes(state.rules) + Bytes(state.empty);
  return bytes;
}

size_t Held(const Counted&) { return 0; }

size_t Held(const Array& array) { return Bytes(array.prefix); }

size_t Held(const Object& object) {
  size_t bytes = Held(object.keys) + Bytes(object.ends) + Bytes(object.members) +
                 Bytes(object.reach) + Bytes(object.free_keys) + Bytes(object.next_required) +
                 Bytes(object.required_from);
  for (const std::vector<uint32_t>& members : object.reach) bytes += Bytes(members);
  return bytes;
}

}  // namespace

size_t MemoryBytes(const Form& form) {
  size_t bytes = sizeof(Form) + Bytes(form.rules) + Bytes(form.depths);
  for (const Rule& rule : form.rules)
    bytes += std::visit([](const auto& kind) { return Held(kind); }, rule);
  return bytes;
}

}  // namespace skald::grammar
