#include "explain/memory.h"

#include <variant>

namespace skald::explain {
namespace {

int64_t StateLayers(const model::Network& network) {
  int64_t layers = 0;
  for (const model::Layer& layer : network.layers) {
    for (const model::Mixer* mixer : {&layer.mixer, &layer.beside}) {
      const auto floats = [](const auto& block) { return StateFloats(block); };
      layers += int64_t{std::visit(floats, *mixer) > 0};
    }
  }
  return layers;
}

}  // namespace

ExplainedMemory MemoryOf(const model::Network& network, const kv::KvLayout& layout) {
  ExplainedMemory memory = {.window = layout.window,
                            .state_layers = StateLayers(network),
                            .state_bytes = model::StateFloatsOf(network) * int64_t{sizeof(float)},
                            .position_bytes = layout.position_bytes()};
  for (const kv::KvShape& layer : layout.layers) {
    const bool is_full = layer.group == kv::PageGroup::kFull;
    (is_full ? memory.full_layers : memory.window_layers) += 1;
  }
  return memory;
}

void AddWindows(std::span<const model::LoggedStep> steps, Explanation* explanation) {
  if (explanation->memory.window_layers == 0) return;
  for (size_t page = 0; page < explanation->pages.size(); ++page) {
    std::optional<int64_t>& left = explanation->pages[page].window_left;
    for (size_t step = 0; step < steps.size() && !left; ++step) {
      const std::vector<bool>& has = steps[step].window_pages;
      if (page < has.size() && !has[page]) left = static_cast<int64_t>(step);
    }
  }
}

}  // namespace skald::explain
