/// What Endless makes of a network.
#pragma once

#include <cstdint>

#include "model/network.h"
#include "skald/endless.h"
#include "skald/status.h"

namespace skald::model {

/// The context of an endless network: more positions than a process can keep the angles of.
inline constexpr int64_t kEndlessContext = int64_t{1} << 23;

/// Gives layers that see the whole context a window and pinned positions, and the network a
/// `context` of kEndlessContext; layers with a window of their own, chunks or a state stay. The
/// network is valid before and after. Nothing where `endless` does not exist.
/// Errors: kInvalidArgument with the number, what was found, what was expected; kUnsupported for a
/// network with learned positions or rows that see those behind them, for one that picks positions,
/// and for one that has no layer to change.
Status MakeEndless(const Endless& endless, Network* network);

}  // namespace skald::model
