/// Replay: the tokens of an answer that is there, drawn again from the rows of one prefill.
///
///     const Status status = Replay(model, {}, {.request = request, .output = output},
///                                  [&](const ReplayedToken& token) {
///                                    same = same && token.token == output[drawn++];
///                                    return Status();
///                                  });
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "skald/engine.h"
#include "skald/ids.h"
#include "skald/model.h"
#include "skald/request.h"
#include "skald/sampling_params.h"
#include "skald/status.h"

namespace skald {

/// What is replayed: a sequence of an answer to `request`.
struct ReplayedAnswer {
  const Request& request;
  int32_t sequence = 0;
  std::span<const TokenId> output;
};

/// A token of an answer, drawn again.
struct ReplayedToken {
  int64_t index = 0;  ///< 0 for the first of the answer
  TokenId token = kNoToken;
  TokenDraw draw = {};
  /// The token that the answer has there ends it: the model says nothing behind it.
  bool is_end = false;
};

/// Draws the tokens of an answer again, each behind those that the answer has before it. Prompt and
/// output are one prefill, `max_chunk` rows in a step: the same bits as when they were generated,
/// for a pass of the weights in as many tokens. An error of the callback ends it, and is returned.
/// Memory: that of a LogitsSession of these options. Errors: as LogitsSession and Engine::Submit;
/// kUnsupported for a request with a constraint, beams or Pooling.
Status Replay(const Model& model, const EngineOptions& options, const ReplayedAnswer& answer,
              const std::function<Status(const ReplayedToken& token)>& on_token);

}  // namespace skald
