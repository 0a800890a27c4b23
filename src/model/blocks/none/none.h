/// None: what stands in the place of a mixer or a feed-forward that a layer does not have. It has
/// no tensors, needs nothing, and is not run: the residual stream passes it by.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

struct None {};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const None&) { return "nothing"; }

inline Status Validate(const None&) { return Ok(); }
inline Status Validate(const None&, std::span<const Rope>) { return Ok(); }
inline void Declare(None&, TensorList&) {}
inline Needs Size(const None&, const StepLimits&) { return {}; }
inline kv::KvShape Cache(const None&) { return {}; }
inline int64_t StateFloats(const None&) { return 0; }
inline void Run(const None&, const Input&, const MixerStep&, const Context&) {}
inline void Run(const None&, const Input&, const Context&) {}
inline void AddWork(const None&, const MixerShape&, StepWork&) {}
inline void AddWork(const None&, int64_t, StepWork&) {}

}  // namespace skald::model
