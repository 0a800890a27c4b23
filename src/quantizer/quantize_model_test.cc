#include "quantizer/quantize_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf_builder.h"
#include "kernels/pack/dequantize.h"
#include "support/shared_data.h"

namespace skald::quantizer {
namespace {

using formats::GgufBuilder;
using formats::GgufModel;
using formats::TensorInfo;

GgufModel FileOf(std::vector<std::byte> bytes) {
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(std::move(bytes)));
  auto file = GgufModel::FromSources(std::move(sources));
  EXPECT_TRUE(file.ok()) << file.status().message();
  return *std::move(file);
}

formats::BuiltTensor Matrix(const std::string& name, uint64_t columns, uint64_t rows,
                            float nan = 0) {
  std::vector<float> values(columns * rows);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i)) * 0.1f;
  }
  values.back() += nan;
  const auto bytes = std::as_bytes(std::span<const float>(values));
  return {.name = name,
          .dims = {columns, rows},
          .data = std::vector<std::byte>(bytes.begin(), bytes.end())};
}

GgufBuilder SmallFile() {
  GgufBuilder builder;
  builder.Key("general.architecture", "llama")
      .Key("general.file_type", uint32_t{0})
      .Key("a.bool", true)
      .Key("a.int8", int8_t{-3})
      .Key("a.uint16", uint16_t{65535})
      .Key("a.int64", int64_t{-5})
      .Key("a.uint64", std::numeric_limits<uint64_t>::max())
      .Key("a.float", 0.1f)
      .Key("a.double", 0.1)
      .Key("a.text", "caf\xc3\xa9")
      .Key("a.strings", std::vector<std::string>{"", "b", "cc"});
  builder.Tensor(Matrix("token_embd.weight", 256, 9));
  builder.Tensor({.name = "blk.0.attn_norm.weight", .dims = {7}});
  builder.Tensor(Matrix("blk.0.attn_q.weight", 512, 5));
  builder.Tensor(Matrix("blk.0.attn_k.weight", 96, 3));
  return builder;
}

// The new file, or why there is none.
Result<std::vector<std::byte>> Quantized(const GgufModel& file, const QuantizeOptions& options) {
  std::vector<std::byte> bytes;
  const auto report = QuantizeFile(file, options, [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return Ok();
  });
  if (!report.ok()) return report.status();
  EXPECT_EQ(report->bytes, static_cast<int64_t>(bytes.size()));
  return bytes;
}

std::string ProblemOf(const GgufModel& file, const QuantizeOptions& options) {
  return std::string(Quantized(file, options).status().message());
}

std::vector<float> FloatsOf(const GgufModel& file, const TensorInfo& tensor) {
  std::vector<std::byte> bytes(tensor.byte_count);
  EXPECT_TRUE(file.ReadTensor(tensor, 0, bytes).ok());
  std::vector<float> values(tensor.columns() * tensor.rows());
  kernels::DequantizeRow(tensor.dtype, bytes, static_cast<int64_t>(values.size()), values.data());
  return values;
}

double SquaredError(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
  return sum;
}

TEST(QuantizeFile, CopiesEveryKeyAndSaysWhatTheFileIs) {
  const GgufModel source = FileOf(SmallFile().Build());
  const GgufModel made = FileOf(*Quantized(source, {.type = "Q4_K_M"}));
  const formats::Metadata& before = source.metadata();
  const formats::Metadata& after = made.metadata();
  EXPECT_EQ(after.size(), before.size() + 1);
  for (size_t i = 0, j = 0; i < before.size(); ++i) {
    if (before.entry(i).key == "general.file_type") continue;
    EXPECT_EQ(after.entry(j).key, before.entry(i).key);
    EXPECT_EQ(after.entry(j).type, before.entry(i).type);
    EXPECT_EQ(after.Describe(j, 1000), before.Describe(i, 1000));
    ++j;
  }
  EXPECT_EQ(*after.GetU64("general.file_type"), 15u);
  EXPECT_EQ(*after.GetU64("general.quantization_version"), 2u);
}

TEST(QuantizeFile, WritesEveryTensorInItsType) {
  const GgufModel source = FileOf(SmallFile().Build());
  const GgufModel made = FileOf(*Quantized(source, {.type = "Q4_K_M"}));
  const std::map<std::string, tensor::DType> expected = {
      {"token_embd.weight", tensor::DType::kQ6_K},
      {"blk.0.attn_norm.weight", tensor::DType::kF32},
      {"blk.0.attn_q.weight", tensor::DType::kQ4_K},
      {"blk.0.attn_k.weight", tensor::DType::kQ8_0}};
  ASSERT_EQ(made.tensors().all().size(), expected.size());
  for (const TensorInfo& tensor : made.tensors().all()) {
    EXPECT_EQ(tensor.dtype, expected.at(std::string(tensor.name))) << tensor.name;
    const std::vector<float> before = FloatsOf(source, *source.tensors().Find(tensor.name));
    const std::vector<float> after = FloatsOf(made, tensor);
    ASSERT_EQ(after.size(), before.size());
    const double square = SquaredError(before, std::vector<float>(before.size()));
    EXPECT_LE(SquaredError(before, after), 0.01 * square) << tensor.name;
  }
}

TEST(QuantizeFile, NoBitDependsOnTheThreads) {
  const GgufModel source = FileOf(SmallFile().Tensor(Matrix("output.weight", 256, 9000)).Build());
  const auto one = Quantized(source, {.type = "Q5_K_M", .threads = 1});
  EXPECT_EQ(*one, *Quantized(source, {.type = "Q5_K_M", .threads = 3}));
}

TEST(QuantizeFile, TypesAreNamedInCapitalsOrNot) {
  const GgufModel source = FileOf(SmallFile().Build());
  EXPECT_EQ(*Quantized(source, {.type = "q4_k_m"}), *Quantized(source, {.type = "Q4_K_M"}));
}

TEST(QuantizeFile, RefusesWhatItCannotDoWell) {
  const GgufModel source = FileOf(SmallFile().Build());
  EXPECT_EQ(ProblemOf(source, {.type = "Q3_K_M"}),
            "'Q3_K_M' is no type to quantize to; there are Q8_0, Q4_0, Q4_K_M, Q5_K_M, Q6_K");
  const GgufModel made = FileOf(*Quantized(source, {.type = "Q8_0"}));
  EXPECT_NE(ProblemOf(made, {.type = "Q4_0"}).find("is Q8_0 already"), std::string::npos);
  EXPECT_TRUE(Quantized(made, {.type = "Q4_0", .allow_requantize = true}).ok());
  EXPECT_TRUE(Quantized(made, {.type = "Q8_0"}).ok());  // all of it is copied
  const GgufModel nan =
      FileOf(SmallFile()
                 .Tensor(Matrix("x.weight", 256, 2, std::numeric_limits<float>::infinity()))
                 .Build());
  EXPECT_EQ(ProblemOf(nan, {.type = "Q8_0"}), "tensor 'x.weight' holds NaN or infinity");
}

TEST(QuantizeFile, StopsWhenAskedAndWhenTheSinkFails) {
  const GgufModel source = FileOf(SmallFile().Build());
  const auto stop = [] { return true; };
  EXPECT_EQ(Quantized(source, {.type = "Q8_0", .should_stop = StopCheck(stop)}).status().code(),
            ErrorCode::kCancelled);
  int calls = 0;
  const auto full = QuantizeFile(source, {.type = "Q8_0"}, [&](std::span<const std::byte>) {
    return ++calls < 3 ? Ok() : Status(ErrorCode::kIo, "full");
  });
  EXPECT_EQ(full.status().message(), "full");
  EXPECT_EQ(calls, 3);
}

// Tensor by tensor no more than 1.05 times the error of the engine that made the other files, from
// the same weights.
class QuantizerSharedData : public testing::TestWithParam<std::string> {};

TEST_P(QuantizerSharedData, ErrorIsThatOfTheRecordedEngine) {
  const std::string folder = support::SharedData("golden") + "/llama-k-";
  const auto source = GgufModel::Open(folder + "f32.gguf");
  const auto theirs = GgufModel::Open(folder + GetParam() + ".gguf");
  ASSERT_TRUE(source.ok() && theirs.ok());
  const GgufModel ours = FileOf(*Quantized(*source, {.type = GetParam()}));
  double our_error = 0;
  double their_error = 0;
  for (const TensorInfo& tensor : ours.tensors().all()) {
    const TensorInfo& other = *theirs->tensors().Find(tensor.name);
    const std::vector<float> exact = FloatsOf(*source, *source->tensors().Find(tensor.name));
    const double our_part = SquaredError(exact, FloatsOf(ours, tensor));
    const double their_part = SquaredError(exact, FloatsOf(*theirs, other));
    EXPECT_EQ(tensor.dtype, other.dtype) << tensor.name;
    EXPECT_LE(std::sqrt(our_part), 1.05 * std::sqrt(their_part)) << tensor.name;
    our_error += our_part;
    their_error += their_part;
  }
  std::printf("%s: %.3f times the recorded engine's error\n", GetParam().c_str(),
              std::sqrt(our_error / their_error));
}

INSTANTIATE_TEST_SUITE_P(Quantize, QuantizerSharedData,
                         testing::Values("Q8_0", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K"));

}  // namespace
}  // namespace skald::quantizer
