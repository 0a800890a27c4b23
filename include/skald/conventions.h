/// Conventions: whose reading of a model file counts where they differ. A plain value that every
/// room may know.
#pragma once

#include <cstdint>

namespace skald {

enum class Conventions : uint8_t {
  kPublisher,  ///< what the model's publisher computes
  kLlamaCpp,   ///< what llama.cpp computes, for comparing with it (docs/conventions.md)
};

}  // namespace skald
