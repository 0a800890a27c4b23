/// Files of keys alone, for tests of what network_from_gguf.h makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "load/network_from_gguf.h"

namespace skald::load {

using formats::GgufBuilder;

// The keys every file of the family has; a test changes some of them.
struct Keys {
  std::string arch = "llama";
  uint32_t layers = 2;
  uint32_t embedding = 64;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t feed_forward = 96;
  uint32_t context = 128;
  float epsilon = 1e-5f;
};

inline GgufBuilder FileWith(const Keys& keys) {
  GgufBuilder file;
  file.Key("general.architecture", keys.arch);
  file.Key(keys.arch + ".block_count", keys.layers);
  file.Key(keys.arch + ".embedding_length", keys.embedding);
  file.Key(keys.arch + ".attention.head_count", keys.heads);
  file.Key(keys.arch + ".attention.head_count_kv", keys.kv_heads);
  file.Key(keys.arch + ".feed_forward_length", keys.feed_forward);
  file.Key(keys.arch + ".context_length", keys.context);
  file.Key(keys.arch + ".attention.layer_norm_rms_epsilon", keys.epsilon);
  file.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  return file;
}

inline Result<model::Network> Read(const GgufBuilder& file,
                                   Conventions conventions = Conventions::kPublisher) {
  Result<formats::GgufFile> parsed = formats::ParseGguf(file.BuildSource());
  if (!parsed.ok()) return std::move(parsed).status();
  return NetworkFromGguf(parsed->metadata, parsed->tensors, conventions);
}

inline const model::Gqa& First(const model::Network& network) {
  return std::get<model::Gqa>(network.layers.front().mixer);
}

inline void ExpectError(const GgufBuilder& file, ErrorCode code, std::string_view part) {
  const Result<model::Network> network = Read(file);
  ASSERT_FALSE(network.ok());
  EXPECT_EQ(ErrorCodeName(network.status().code()), ErrorCodeName(code));
  EXPECT_NE(network.status().message().find(part), std::string::npos) << network.status().message();
}

}  // namespace skald::load
