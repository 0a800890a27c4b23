#include "quantizer/type_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::quantizer {
namespace {

using tensor::DType;

// The planned types of a file with these tensors, by name.
std::map<std::string, DType> PlanOf(const std::string& mixture,
                                    const std::vector<formats::BuiltTensor>& tensors) {
  formats::GgufBuilder builder;
  builder.Key("general.architecture", "llama");
  for (const formats::BuiltTensor& tensor : tensors) builder.Tensor(tensor);
  const auto file = formats::ParseGguf(builder.BuildSource());
  EXPECT_TRUE(file.ok()) << file.status().message();
  std::map<std::string, DType> types;
  for (const Mixture& known : Mixtures()) {
    if (known.name != mixture) continue;
    for (const PlannedTensor& tensor : PlanTypes(file->tensors, known)) {
      types[std::string(tensor.source->name)] = tensor.dtype;
    }
  }
  return types;
}

formats::BuiltTensor Matrix(const std::string& name, uint64_t columns = 256) {
  return {.name = name, .dims = {columns, 4}};
}

TEST(MoreBits, IsTheOuterEighthsAndEveryThirdBetween) {
  std::vector<int64_t> finer;
  for (int64_t layer = 0; layer < 16; ++layer) {
    if (MoreBits(layer, 16)) finer.push_back(layer);
  }
  EXPECT_EQ(finer, (std::vector<int64_t>{0, 1, 4, 7, 10, 13, 14, 15}));
}

TEST(PlanTypes, AMixtureHasFinerTypesWhereErrorsHarm) {
  const auto types =
      PlanOf("Q4_K_M",
             {Matrix("token_embd.weight"), Matrix("output.weight"), Matrix("blk.0.attn_q.weight"),
              Matrix("blk.0.attn_v.weight"), Matrix("blk.2.attn_v.weight"),
              Matrix("blk.3.ffn_down.weight"), Matrix("blk.0.attn_qkv.weight")});
  EXPECT_EQ(types.at("token_embd.weight"), DType::kQ4_K);
  EXPECT_EQ(types.at("output.weight"), DType::kQ6_K);
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), DType::kQ4_K);
  EXPECT_EQ(types.at("blk.0.attn_v.weight"), DType::kQ4_K);
  EXPECT_EQ(types.at("blk.2.attn_v.weight"), DType::kQ6_K);
  EXPECT_EQ(types.at("blk.3.ffn_down.weight"), DType::kQ6_K);
  EXPECT_EQ(types.at("blk.0.attn_qkv.weight"), DType::kQ5_K);
}

TEST(PlanTypes, TheEmbeddingIsTheOutputWhereThereIsNone) {
  EXPECT_EQ(PlanOf("Q4_0", {Matrix("token_embd.weight")}).at("token_embd.weight"), DType::kQ6_K);
  EXPECT_EQ(PlanOf("Q8_0", {Matrix("token_embd.weight")}).at("token_embd.weight"), DType::kQ8_0);
}

TEST(PlanTypes, CopiesWhatIsSmallOrDecides) {
  const auto types = PlanOf("Q8_0", {{.name = "blk.0.attn_norm.weight", .dims = {256}},
                                     Matrix("blk.0.ffn_gate_inp.weight"),
                                     Matrix("blk.0.ssm_conv1d.weight"),
                                     Matrix("blk.0.ssm_beta.weight"),
                                     Matrix("blk.0.ssm_ba.weight"),
                                     Matrix("blk.0.attn_q.bias"),
                                     Matrix("blk.0.attn_q_norm.weight")});
  for (const auto& [name, dtype] : types) EXPECT_EQ(dtype, DType::kF32) << name;
}

TEST(PlanTypes, TheLargeMatricesOfRecurrentLayersAreAsOthers) {
  const auto types =
      PlanOf("Q4_K_M", {Matrix("blk.0.ssm_in.weight"), Matrix("blk.0.ssm_out.weight"),
                        Matrix("blk.0.ssm_f_a.weight")});
  for (const auto& [name, dtype] : types) EXPECT_EQ(dtype, DType::kQ4_K) << name;
}

TEST(PlanTypes, RowsThatAreNoMultipleOfTheBlockTakeALargerType) {
  const auto types =
      PlanOf("Q4_K_M", {Matrix("blk.0.attn_q.weight", 96), Matrix("blk.0.attn_k.weight", 50)});
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), DType::kQ8_0);
  EXPECT_EQ(types.at("blk.0.attn_k.weight"), DType::kF16);
}

}  // namespace
}  // namespace skald::quantizer
