/// What must hold after every step of an engine, and of the events of a request at its end.
#pragma once

#include <string>

#include "engine/core.h"
#include "sim/oracle.h"
#include "sim/recording_sink.h"

namespace skald::sim {

/// Accounting, pins, writers, lists and the plan. Empty if all is well, else what is wrong.
std::string CheckStep(const engine::Core& core, const engine::CacheManager& cache,
                      const engine::CoreLimits& limits);

/// Order of events, and tokens against those of the same request alone. As CheckStep.
std::string CheckAnswer(const Client& client, const RecordingSink& sink, int64_t context,
                        sampling::Sampler* sampler);

}  // namespace skald::sim
