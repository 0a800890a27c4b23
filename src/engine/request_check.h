/// CheckRequest: what Submit refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "skald/request.h"
#include "skald/status.h"

namespace skald::engine {

/// What bounds a request.
struct RequestLimits {
  int64_t context = 0;
  int64_t vocab = 0;
  int64_t page_count = 0;
  int64_t max_running = 0;
  bool has_states = false;                   ///< layers of the network carry a state
  bool generates = true;                     ///< else it only embeds or ranks
  std::optional<Pooling> rank_pooling = {};  ///< of a network that ranks
};

/// OK if `tokens` can be computed at all. Errors: kInvalidArgument (none, or one that is not in the
/// vocabulary), kResourceExhausted (longer than the context).
Status CheckPrompt(std::span<const TokenId> tokens, const RequestLimits& limits);

/// OK if the network can continue a text. Errors: kUnsupported.
Status CheckGenerates(const RequestLimits& limits);

/// OK if the request makes sense and can be computed by an engine that has nothing else to do.
/// Errors: as CheckPrompt; kInvalidArgument naming the field; kResourceExhausted with the pages it
/// can need and those there are; kUnsupported for what the network cannot do.
Status CheckRequest(const Request& request, const RequestLimits& limits);

}  // namespace skald::engine
