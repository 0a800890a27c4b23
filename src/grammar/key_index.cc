#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "grammar/containers.h"

namespace skald::grammar {

namespace {

// For each state of the keys the number of keys not declared below it, endless where a loop is.
class KeyCounter {
 public:
  // `counts`: whether keys of a member can come.
  KeyCounter(const Object& object, std::function<bool(uint32_t member)> counts)
      : object_(object), counts_(std::move(counts)) {}

  void Run() {
    const size_t states = object_.keys.size();
    free_keys.assign(states, 0);
    reach.assign(states, {});
    progress_.assign(states, Progress::kNew);
    class_bytes_.assign(object_.keys.class_count, 0);
    for (const uint8_t c : object_.keys.class_of) ++class_bytes_[c];
    std::vector<uint32_t> open = {0};
    while (!open.empty()) {
      const uint32_t state = open.back();
      if (progress_[state] == Progress::kNew) {
        progress_[state] = Progress::kOpen;
        for (const Edge& edge : EdgesOf(state))
          if (progress_[edge.target] == Progress::kNew) open.push_back(edge.target);
      } else {
        open.pop_back();
        if (progress_[state] == Progress::kOpen) Count(state);
        progress_[state] = Progress::kDone;
      }
    }
    SpreadLoops();
  }

  std::vector<uint64_t> free_keys;           // as in Object
  std::vector<std::vector<uint32_t>> reach;  // as in Object

 private:
  enum class Progress : uint8_t { kNew, kOpen, kDone };

  struct Edge {
    uint32_t target;
    uint64_t ways;  // how many bytes lead there
  };

  // One for each target.
  std::vector<Edge> EdgesOf(uint32_t state) const {
    std::vector<Edge> edges;
    for (uint32_t c = 0; c < object_.keys.class_count; ++c) {
      const uint32_t target = object_.keys.next[state * object_.keys.class_count + c];
      if (target != Leaf::kDead) edges.push_back({target, class_bytes_[c]});
    }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& x, const Edge& y) { return x.target < y.target; });
    size_t count = 0;
    for (const Edge& edge : edges) {
      if (count > 0 && edges[count - 1].target == edge.target)
        edges[count - 1].ways += edge.ways;
      else
        edges[count++] = edge;
    }
    edges.resize(count);
    return edges;
  }

  void Count(uint32_t state) {
    const uint32_t member = object_.ends[state];
    std::vector<uint32_t>& named = reach[state];
    uint64_t count = 0;
    if (member != Object::kNoMember && counts_(member)) {
      if (member < object_.named) named.push_back(member);
      if (member >= object_.declared) count = 1;
    }
    for (const auto& [target, ways] : EdgesOf(state)) {
      if (progress_[target] == Progress::kOpen) {
        loops_.push_back(state);  // back into a state that is not counted yet
        continue;
      }
      const uint64_t below = free_keys[target];
      const bool endless = below > Object::kEndless / 256 || count > Object::kEndless / 256;
      count = endless ? Object::kEndless : count + below * ways;
      named.insert(named.end(), reach[target].begin(), reach[target].end());
    }
    std::sort(named.begin(), named.end());
    free_keys[state] = count;
  }

  // States on a loop, and those before them, have endless keys, if any key ends behind the loop.
  // All states of `keys` reach an end; the one of a member that never ends does not count.
  void SpreadLoops() {
    std::vector<std::vector<uint32_t>> sources(object_.keys.size());
    for (uint32_t state = 0; state < object_.keys.size(); ++state)
      for (const Edge& edge : EdgesOf(state)) sources[edge.target].push_back(state);
    const auto spread = [&](std::vector<uint32_t> news, std::vector<uint8_t>* marked) {
      for (const uint32_t state : news) (*marked)[state] = 1;
      while (!news.empty()) {
        const uint32_t state = news.back();
        news.pop_back();
        for (const uint32_t source : sources[state]) {
          if ((*marked)[source]) continue;
          (*marked)[source] = 1;
          news.push_back(source);
        }
      }
    };
    std::vector<uint32_t> ends;
    for (uint32_t state = 0; state < object_.keys.size(); ++state)
      if (free_keys[state] > 0) ends.push_back(state);
    std::vector<uint8_t> reaches_end(object_.keys.size());
    spread(ends, &reaches_end);
    std::vector<uint32_t> endless;
    for (const uint32_t state : loops_)
      if (reaches_end[state]) endless.push_back(state);
    std::vector<uint8_t> is_endless(object_.keys.size());
    spread(endless, &is_endless);
    for (uint32_t state = 0; state < object_.keys.size(); ++state)
      if (is_endless[state]) free_keys[state] = Object::kEndless;
  }

  const Object& object_;
  const std::function<bool(uint32_t member)> counts_;
  std::vector<uint64_t> class_bytes_;  // how many bytes are of a class
  std::vector<Progress> progress_;
  std::vector<uint32_t> loops_;  // states with an edge back into their own way
};

// The bytes that `rule` may begin with, or more: all where that takes more than a look. Adds the
// rules that stand at its beginning.
std::bitset<256> FirstBytes(const Rule& rule, std::vector<uint32_t>* called) {
  std::bitset<256> bytes;
  if (const auto* automaton = std::get_if<Automaton>(&rule)) {
    if (automaton->states.empty()) return bytes;
    const AutomatonState& state = automaton->states[0];
    if (state.accepting || !state.empty.empty()) return bytes.set();
    for (const ByteEdge& edge : state.bytes)
      for (int byte = edge.low; byte <= edge.high; ++byte) bytes.set(static_cast<size_t>(byte));
    for (const RuleEdge& edge : state.rules) called->push_back(edge.rule);
    return bytes;
  }
  const auto* leaf = std::get_if<Leaf>(&rule);
  if (leaf == nullptr || leaf->accepting[0]) return bytes.set();
  for (int byte = 0; byte < 256; ++byte)
    bytes.set(static_cast<size_t>(byte), leaf->Next(0, static_cast<uint8_t>(byte)) != Leaf::kDead);
  return bytes;
}

// What the values of the members begin with.
std::bitset<256> BytesBehindKeys(const Form& form, const Object& object) {
  std::vector<uint32_t> rules;
  for (const Member& member : object.members) rules.push_back(member.rule);
  std::vector<uint8_t> met(form.rules.size());
  std::bitset<256> bytes;
  while (!rules.empty() && !bytes.all()) {
    const uint32_t rule = rules.back();
    rules.pop_back();
    if (std::exchange(met[rule], 1) == 0) bytes |= FirstBytes(form.rules[rule], &rules);
  }
  return bytes;
}

}  // namespace

uint64_t CountKeys(const Object& object, uint32_t member) {
  KeyCounter counter(object, [&](uint32_t one) { return one == member; });
  counter.Run();
  return counter.free_keys[0];
}

void IndexKeys(const Form& form, Object* object) {
  KeyCounter counter(*object, [&](uint32_t member) {
    return form.depths[object->members[member].rule] != Form::kNever;
  });
  counter.Run();
  object->free_keys = std::move(counter.free_keys);
  object->reach = std::move(counter.reach);
  object->next_required.assign(object->declared + 1, object->declared);
  object->required_from.assign(object->declared + 1, 0);
  for (uint32_t i = object->declared; i-- > 0;) {
    const bool required = object->members[i].required;
    object->next_required[i] = required ? i : object->next_required[i + 1];
    object->required_from[i] = object->required_from[i + 1] + (required ? 1 : 0);
  }
  if (object->is_bare) object->behind_keys = BytesBehindKeys(form, *object);
}

}  // namespace skald::grammar
