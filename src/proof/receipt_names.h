/// The words that a receipt has for settings.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/sampling_params.h"

namespace skald::proof {

template <typename T>
struct Name {
  std::string_view name;
  T value;
};

inline constexpr std::array<Name<KvCacheType>, 5> kKvTypeNames = {{{"f16", KvCacheType::kF16},
                                                                   {"bf16", KvCacheType::kBF16},
                                                                   {"f32", KvCacheType::kF32},
                                                                   {"q8", KvCacheType::kQ8},
                                                                   {"q4", KvCacheType::kQ4}}};
inline constexpr std::array<Name<Conventions>, 2> kConventionsNames = {
    {{"publisher", Conventions::kPublisher}, {"llama.cpp", Conventions::kLlamaCpp}}};
inline constexpr std::array<Name<RopeStretch>, 4> kStretchNames = {
    {{"none", RopeStretch::kNone},
     {"linear", RopeStretch::kLinear},
     {"ntk", RopeStretch::kNtk},
     {"yarn", RopeStretch::kYarn}}};
inline constexpr std::array<Name<SamplingOrder>, 2> kOrderNames = {
    {{"standard", SamplingOrder::kStandard}, {"llama.cpp", SamplingOrder::kLlamaCpp}}};

template <typename T, size_t kCount>
constexpr std::string_view NameOf(const std::array<Name<T>, kCount>& names, T value) {
  for (const Name<T>& each : names) {
    if (each.value == value) return each.name;
  }
  return {};
}

template <typename T, size_t kCount>
constexpr std::optional<T> ValueOf(const std::array<Name<T>, kCount>& names,
                                   std::string_view name) {
  for (const Name<T>& each : names) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace skald::proof
