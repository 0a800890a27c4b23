#include "plan/named_shapes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/metadata_writer.h"
#include "skald/model_shape.h"

namespace skald::plan {
namespace {

using tensor::DType;

struct Size {
  std::string_view key;
  int64_t value;
};

// Sizes that all have, and the keys that some have beside them. How RoPE is scaled is left out: it
// changes no size.
struct Row {
  std::string_view name;
  std::string_view source;
  std::string_view family;
  int64_t layers;
  int64_t width;
  int64_t hidden;  // of the feed-forward; 0: the family has only experts
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t vocab;
  int64_t context;
  PaperTypes types = {};
  std::span<const Size> sizes = {};
};

constexpr Size kMistral7b[] = {{"attention.sliding_window", 4096}};
constexpr Size kQwen3Experts[] = {
    {"expert_count", 128}, {"expert_used_count", 8}, {"expert_feed_forward_length", 768}};
constexpr Size kQwen36Experts[] = {{"expert_count", 256},
                                   {"expert_used_count", 8},
                                   {"expert_feed_forward_length", 512},
                                   {"expert_shared_feed_forward_length", 512},
                                   {"full_attention_interval", 4},
                                   {"rope.dimension_count", 64},
                                   {"ssm.conv_kernel", 4},
                                   {"ssm.group_count", 16},
                                   {"ssm.inner_size", 4096},
                                   {"ssm.state_size", 128},
                                   {"ssm.time_step_rank", 32}};
constexpr Size kGptOss20b[] = {{"expert_count", 32},
                               {"expert_used_count", 4},
                               {"expert_feed_forward_length", 2880},
                               {"attention.sliding_window", 128}};
constexpr Size kGptOss120b[] = {{"expert_count", 128},
                                {"expert_used_count", 4},
                                {"expert_feed_forward_length", 2880},
                                {"attention.sliding_window", 128}};

constexpr PaperTypes kTiedF32 = {.matrices = DType::kF32, .is_tied = true};
constexpr PaperTypes kF16 = {.matrices = DType::kF16};
constexpr PaperTypes kBF16 = {.matrices = DType::kBF16};
constexpr PaperTypes kMxfp4Experts = {.matrices = DType::kBF16, .experts = DType::kMXFP4};

// By name. The numbers are those of the config.json of `source`.
constexpr std::array kRows = {
    Row{"gpt-oss-120b", "openai/gpt-oss-120b", "gpt-oss", 36, 2880, 0, 64, 8, 64, 201088, 131072,
        kMxfp4Experts, kGptOss120b},
    Row{"gpt-oss-20b", "openai/gpt-oss-20b", "gpt-oss", 24, 2880, 0, 64, 8, 64, 201088, 131072,
        kMxfp4Experts, kGptOss20b},
    Row{"gpt2", "openai-community/gpt2", "gpt2", 12, 768, 3072, 12, 12, 64, 50257, 1024, kTiedF32},
    Row{"llama-2-70b", "meta-llama/Llama-2-70b-hf", "llama", 80, 8192, 28672, 64, 8, 128, 32000,
        4096, kF16},
    Row{"llama-2-7b", "meta-llama/Llama-2-7b-hf", "llama", 32, 4096, 11008, 32, 32, 128, 32000,
        4096, kF16},
    Row{"llama-3-70b", "meta-llama/Meta-Llama-3-70B", "llama", 80, 8192, 28672, 64, 8, 128, 128256,
        8192, kBF16},
    Row{"llama-3-8b", "meta-llama/Meta-Llama-3-8B", "llama", 32, 4096, 14336, 32, 8, 128, 128256,
        8192, kBF16},
    Row{"llama-3.1-70b", "meta-llama/Llama-3.1-70B", "llama", 80, 8192, 28672, 64, 8, 128, 128256,
        131072, kBF16},
    Row{"llama-3.1-8b", "meta-llama/Llama-3.1-8B", "llama", 32, 4096, 14336, 32, 8, 128, 128256,
        131072, kBF16},
    Row{"mistral-7b", "mistralai/Mistral-7B-v0.1", "llama", 32, 4096, 14336, 32, 8, 128, 32000,
        32768, kBF16, kMistral7b},
    Row{"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", "qwen3moe", 48, 2048, 0, 32, 4, 128, 151936, 40960,
        kBF16, kQwen3Experts},
    Row{"qwen3.6-35b-a3b", "Qwen/Qwen3.6-35B-A3B", "qwen35moe", 40, 2048, 0, 16, 2, 256, 248320,
        262144, kBF16, kQwen36Experts},
};

Result<formats::Metadata> MetadataOf(const Row& row) {
  formats::MetadataWriter metadata;
  const auto key = [&](std::string_view name) {
    return std::string(row.family) + "." + std::string(name);
  };
  metadata.SetString("general.architecture", row.family);
  for (const Size& size : std::initializer_list<Size>{{"block_count", row.layers},
                                                      {"embedding_length", row.width},
                                                      {"context_length", row.context},
                                                      {"attention.head_count", row.heads},
                                                      {"attention.head_count_kv", row.kv_heads},
                                                      {"attention.key_length", row.head_dim},
                                                      {"attention.value_length", row.head_dim},
                                                      {"vocab_size", row.vocab}}) {
    metadata.SetInt(key(size.key), size.value);
  }
  if (row.hidden > 0) metadata.SetInt(key("feed_forward_length"), row.hidden);
  for (const Size& size : row.sizes) metadata.SetInt(key(size.key), size.value);
  // Families ask for one of them; on paper they change nothing.
  metadata.SetFloat(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  metadata.SetFloat(key("attention.layer_norm_epsilon"), 1e-5F);
  return std::move(metadata).Finish();
}

std::string Names() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace

Result<PublishedShape> FindPublishedShape(std::string_view name) {
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& one) { return one.name == name; });
  if (row == kRows.end()) {
    return Status(ErrorCode::kNotFound,
                  "there is no shape '" + std::string(name) + "', expected one of " + Names());
  }
  ASSIGN_OR_RETURN(formats::Metadata metadata, MetadataOf(*row));
  return PublishedShape{.name = row->name,
                        .source = row->source,
                        .types = row->types,
                        .metadata = std::move(metadata)};
}

}  // namespace skald::plan

namespace skald {

std::vector<NamedShape> NamedShapes() {
  std::vector<NamedShape> shapes;
  for (const plan::Row& row : plan::kRows) shapes.push_back({row.name, row.source});
  return shapes;
}

}  // namespace skald
