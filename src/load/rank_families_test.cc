// What network_from_gguf.h makes of files of models that rank pairs of texts.

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

using model::RankFunction;
using model::RankHead;
using Labels = std::vector<std::string>;

GgufBuilder With(GgufBuilder file, const std::vector<std::string>& tensors) {
  for (const std::string& tensor : tensors) {
    file.Tensor({.name = tensor, .dims = {1}, .data = std::vector<std::byte>(4)});
  }
  return file;
}

GgufBuilder EncoderFile(const std::string& arch) {
  return FileWith({.arch = arch, .kv_heads = 4})
      .Key(arch + ".attention.layer_norm_epsilon", 1e-12f);
}

RankHead HeadOf(const GgufBuilder& file, Conventions conventions = Conventions::kPublisher) {
  const Result<model::Network> network = Read(file, conventions);
  EXPECT_TRUE(network.ok()) << network.status().message();
  return network.ok() ? network->rank_head : RankHead{};
}

const Labels kBoth = {"cls.weight", "cls.output.weight"};

TEST(RankFamilies, AsBertThoseOfItsKindRank) {
  for (const char* arch : {"bert", "jina-bert-v2", "nomic-bert"}) {
    SCOPED_TRACE(arch);
    const RankHead head = HeadOf(With(EncoderFile(arch), kBoth));
    EXPECT_EQ(head.outputs, 1);
    EXPECT_EQ(head.width, 64);
    EXPECT_EQ(head.pooling, Pooling::kFirst);
    EXPECT_EQ(head.function, RankFunction::kTanh);
    EXPECT_FALSE(head.norm.exists());
    EXPECT_EQ(HeadOf(With(EncoderFile(arch), {"cls.output.weight"})).function, std::nullopt);
    const RankHead single = HeadOf(With(EncoderFile(arch), {"cls.weight"}));
    EXPECT_EQ(single.output_name, "cls");
    EXPECT_EQ(single.function, std::nullopt);
  }
}

TEST(RankFamilies, ModernBertTakesTheMeanAndNormsBehindItsGelu) {
  GgufBuilder file = With(EncoderFile("modern-bert"), kBoth);
  EXPECT_FALSE(HeadOf(file).norm.exists());
  file = With(file, {"cls.norm.weight"});
  const RankHead head = HeadOf(file);
  EXPECT_EQ(head.pooling, Pooling::kMean);
  EXPECT_EQ(head.function, RankFunction::kGeluErf);
  EXPECT_EQ(head.norm.kind, model::NormKind::kLayer);
  EXPECT_EQ(head.norm.epsilon, 1e-12f);
  EXPECT_EQ(HeadOf(file, Conventions::kLlamaCpp).function, RankFunction::kGelu);
  EXPECT_EQ(HeadOf(file.Key("modern-bert.pooling_type", uint32_t{2})).pooling, Pooling::kFirst);
}

TEST(RankFamilies, OneLabelIsAScoreAndMoreAreClasses) {
  const std::string key = "bert.classifier.output_labels";
  const GgufBuilder file = With(EncoderFile("bert"), kBoth);
  EXPECT_EQ(HeadOf(GgufBuilder(file).Key(key, Labels{"LABEL_0"})).outputs, 1);
  ExpectError(GgufBuilder(file).Key(key, Labels{"yes", "no"}), ErrorCode::kUnsupported,
              key + " has 2 labels, expected 1: this version ranks texts");
  ExpectError(GgufBuilder(file).Key(key, Labels{}), ErrorCode::kUnsupported, key + " has 0 labels");
  ExpectError(GgufBuilder(file).Key(key, uint32_t{1}), ErrorCode::kBadModel, key);
}

TEST(RankFamilies, ADecoderAnswersYesOrNo) {
  const std::string key = "qwen3.classifier.output_labels";
  const GgufBuilder file = With(FileWith({.arch = "qwen3"}), {"cls.output.weight"});
  const RankHead head = HeadOf(GgufBuilder(file).Key(key, Labels{"yes", "no"}));
  EXPECT_EQ(head.outputs, 2);
  EXPECT_EQ(head.pooling, Pooling::kLast);
  EXPECT_EQ(head.function, std::nullopt);
  EXPECT_EQ(HeadOf(file).outputs, 1);
  ExpectError(GgufBuilder(file).Key(key, Labels{"no", "yes"}), ErrorCode::kUnsupported,
              key + " has 2 labels, expected 1, or yes and no");
  EXPECT_FALSE(HeadOf(FileWith({.arch = "qwen3"})).exists());
  EXPECT_FALSE(HeadOf(With(FileWith({.arch = "qwen3"}), {"cls.weight"})).exists())
      << "and the tensor that nothing takes is refused";
}

}  // namespace
}  // namespace skald::load
