/// ReadAhead: how far ahead of their use a loop over much memory asks for its lines.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Bytes ahead: into the first-level cache, and before that into the second.
struct ReadAhead {
  int64_t near = 0;
  int64_t far = 0;

  bool operator==(const ReadAhead&) const = default;
};

/// In one step, straight into the first level, only as many lines are on their way as that has
/// fill buffers: 16 of a core with AMX, too few for the time that memory takes there (docs/log.md,
/// 2026-11-29: a token of Q6_K reads at 82 % of the passes over memory in one step, at 99 % in
/// two). 1 to 4 KiB and 9 to 18 KiB are equally good.
inline constexpr ReadAhead kTwoSteps = {.near = 2048, .far = 9216};

/// The next lines, into the first level: what a loop needs that unpacks much, where the hardware
/// brings the rest.
inline constexpr ReadAhead kOneStep = {.near = 512, .far = 0};

/// Each line when it is read: what the hardware's prefetchers bring is all. They end at each page
/// of 4 KiB and fall behind a loop that computes, but where they keep up, hints are in their way
/// (docs/decisions/0061).
inline constexpr ReadAhead kByHardware = {.near = 0, .far = 0};

}  // namespace skald::kernels
