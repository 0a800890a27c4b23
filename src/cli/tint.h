/// Tint: what a colour means in a terminal, the same in every report.
#pragma once

#include <cstdint>
#include <string>

namespace skald::cli {

/// Blue is input, amber computed, green a result, purple an aggregate, red a fault. Words or
/// letters beside it say the same.
enum class Tint : uint8_t { kPlain, kInput, kComputed, kResult, kAggregate, kFault };

/// Whether a report may have colour.
enum class Painting : uint8_t { kPlain, kColored };

/// `text`, which is safe for a terminal, in the colours of its own palette: they suit its
/// background.
std::string Paint(const std::string& text, Tint tint, Painting painting);

}  // namespace skald::cli
