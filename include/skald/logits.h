/// Logits: what a model gives for every position of a text, without a request and without an
/// engine.
///
///     Result<LogitsSession> session = LogitsSession::Create(model, {.context = 64});
///     const Status status = session->Compute(tokens, {}, [&](std::span<const float> row) {
///       rows.emplace_back(row.begin(), row.end());
///       return Status();
///     });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "skald/engine.h"
#include "skald/ids.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald {

/// Computes one text after the other on one model. One thread at a time.
class LogitsSession {
 public:
  /// Reserves pages for the context of `options`, and logits for each row of a chunk; what options
  /// say of requests, of the cache and of speculation is not used. Errors: as Engine::Create;
  /// kUnsupported for a model that only embeds or ranks.
  static Result<LogitsSession> Create(const Model& model, const EngineOptions& options);
  ~LogitsSession();
  LogitsSession(LogitsSession&&) noexcept;
  LogitsSession& operator=(LogitsSession&&) noexcept;

  /// Called once for every position, in their order; `row` is vocabulary-sized and valid during the
  /// call only. An error ends the computation, which returns it.
  using OnRow = std::function<Status(std::span<const float> row)>;

  /// Computes the logits of every position of `tokens`, which are cut into steps of the given sizes
  /// (the last size repeats; empty = steps as large as options allow). How they are cut changes no
  /// bit. Errors: kInvalidArgument (no token, one that is not in the vocabulary, a size below 1 or
  /// above max_chunk), kResourceExhausted (longer than the context), kNumeric (the logits are NaN:
  /// broken weights).
  Status Compute(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                 const OnRow& on_row);

  /// What stands behind a LogitsSession. Defined by the engine room.
  struct State;

 private:
  explicit LogitsSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
