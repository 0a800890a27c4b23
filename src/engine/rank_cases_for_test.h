/// What tests of ranks compare: the logits of a text in steps of several sizes, and what an engine
/// gives.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"

namespace skald::engine {

/// Of a golden model, or a path.
inline std::string PathOf(const std::string& name) {
  return name.starts_with('/') ? name : SKALD_GOLDEN_MODELS "/" + name + ".gguf";
}

inline EngineOptions RankOptions(int threads) {
  return {.context = 80, .max_chunk = 64, .threads = threads};
}

/// Of 72 tokens, the last ones in a step of 64.
inline Result<std::vector<float>> TryLogitsOf(const Model& model, const EngineOptions& options) {
  Result<LogitsSession> session = LogitsSession::Create(model, options);
  if (!session.ok()) return session.status();
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < 72; ++i) {
    tokens.push_back(static_cast<TokenId>((i * i + 3) % model.info().vocab_size));
  }
  const std::vector<int64_t> chunks = {1, 7, 64};
  std::vector<float> all;
  Status status = session->Compute(tokens, chunks, [&](std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
    return Ok();
  });
  if (!status.ok()) return status;
  return all;
}

inline std::vector<float> LogitsOf(const Model& model, const EngineOptions& options) {
  Result<std::vector<float>> logits = TryLogitsOf(model, options);
  EXPECT_TRUE(logits.ok()) << logits.status().message();
  return logits.ok() ? *std::move(logits) : std::vector<float>();
}

/// The tokens of three sequences that fork, of beams where there are any, and of the first again:
/// what an engine does beside Forward. Sizes are as planned.
inline std::vector<std::vector<TokenId>> ServedBy(const Model& model,
                                                  const EngineOptions& options) {
  Request request;
  for (TokenId i = 0; i < 40; ++i) request.prompt.push_back(3 + i % 7);
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  request.n = 3;
  request.stop = {.max_tokens = 12, .ignore_eos = true};
  Request beams = request;
  beams.n = 1;
  beams.sampling = {};
  beams.beam_search.beams = 3;
  std::vector<std::vector<TokenId>> found;
  Result<Engine> engine = Engine::Create(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) return found;
  EXPECT_EQ(engine->memory(), Engine::Plan(model, options)->memory);
  // There are no beams of models with states.
  const bool all = options.speculation.kind == Speculation::kOff && model.info().state_bytes == 0;
  for (const Request& each : all ? std::vector{request, beams, request} : std::vector{request}) {
    const auto done = engine->Generate(each, [](const TokenEvent&) { return true; });
    EXPECT_TRUE(done.ok()) << done.status().message();
    if (!done.ok()) return found;
    found.push_back(done->tokens);
    for (const auto& other : done->others) found.push_back(other.tokens);
  }
  return found;
}

}  // namespace skald::engine
