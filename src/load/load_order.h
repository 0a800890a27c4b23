/// LoadOrder: what the first rank of a model tells the others to load, and what they answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ranks/group.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::load {

inline constexpr uint32_t kLoadOrder = ranks::Group::kFirstOrder;

/// Path, threads, conventions, ropes and the bound of tables.
std::vector<std::byte> WriteLoadOrder(const LoadOptions& options);
/// Errors: kInvalidArgument, these are no such bytes.
Result<LoadOptions> ReadLoadOrder(std::span<const std::byte> bytes);

/// The answer of a rank that has its part.
struct LoadAnswer {
  uint64_t identity = 0;                ///< ModelInfo
  std::vector<std::string> not_finite;  ///< PackedWeights
};
std::vector<std::byte> WriteLoadAnswer(const LoadAnswer& answer);
/// Errors: as ReadLoadOrder.
Result<LoadAnswer> ReadLoadAnswer(std::span<const std::byte> bytes);

}  // namespace skald::load
