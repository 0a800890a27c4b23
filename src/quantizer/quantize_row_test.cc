#include "quantizer/quantize_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/pack/dequantize.h"
#include "kernels/pack/finite.h"

namespace skald::quantizer {
namespace {

using tensor::DType;

std::vector<std::byte> Quantized(DType dtype, const std::vector<float>& values) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  std::vector<std::byte> bytes(values.size() / info.block_elements * info.block_bytes,
                               std::byte{0xa5});
  QuantizeRow(dtype, values, bytes);
  return bytes;
}

std::vector<float> RoundTrip(DType dtype, const std::vector<float>& values) {
  std::vector<float> back(values.size());
  kernels::DequantizeRow(dtype, Quantized(dtype, values), static_cast<int64_t>(values.size()),
                         back.data());
  return back;
}

// Root mean square of the error over that of the values.
double RelativeError(const std::vector<float>& values, const std::vector<float>& back) {
  double error = 0;
  double square = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - back[i], 2);
    square += std::pow(double{values[i]}, 2);
  }
  return std::sqrt(error / square);
}

// A normal distribution from sums, the same on every machine.
std::vector<float> NormalRow(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    value = static_cast<float>(0.02 * (sum - 6));
  }
  return values;
}

struct TypeCase {
  DType dtype;
  double error;  ///< at most, on normal rows
};

class EveryType : public testing::TestWithParam<TypeCase> {};

TEST_P(EveryType, ErrorOnNormalWeightsIsSmall) {
  const std::vector<float> values = NormalRow(64 * 256, 1);
  const double error = RelativeError(values, RoundTrip(GetParam().dtype, values));
  EXPECT_LE(error, GetParam().error);
  EXPECT_GE(error, GetParam().error / 1.2);  // the bound is one
}

TEST_P(EveryType, WhatWasQuantizedLosesLittleMore) {
  const std::vector<float> values = NormalRow(16 * 256, 2);
  const std::vector<float> once = RoundTrip(GetParam().dtype, values);
  EXPECT_LE(RelativeError(once, RoundTrip(GetParam().dtype, once)), GetParam().error / 3);
}

TEST_P(EveryType, ZerosStayZeros) {
  const std::vector<float> zeros(512, 0.0f);
  for (const float value : RoundTrip(GetParam().dtype, zeros)) EXPECT_EQ(value, 0.0f);
}

TEST_P(EveryType, RowsOfOneValueKeepIt) {
  for (const float value : {1.0f, -3.0f, 0.05f}) {
    const std::vector<float> back = RoundTrip(GetParam().dtype, std::vector<float>(256, value));
    for (const float found : back) EXPECT_NEAR(found, value, 0.02 * std::fabs(value));
  }
}

// Whatever the size: no NaN, no infinity.
TEST_P(EveryType, ScalesStayFinite) {
  for (const float size : {1e-45f, 1e-30f, 1e-8f, 1e6f, 1e20f, 3e38f}) {
    std::vector<float> values = NormalRow(512, 3);
    for (float& value : values) value = std::clamp(value * 8, -1.0f, 1.0f) * size;
    values[7] = -size;
    values[300] = size;
    EXPECT_TRUE(kernels::AllFinite(GetParam().dtype, Quantized(GetParam().dtype, values))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(
    QuantizeRow, EveryType,
    testing::Values(TypeCase{DType::kF16, 2.2e-4}, TypeCase{DType::kQ8_0, 0.006},
                    TypeCase{DType::kQ4_0, 0.09}, TypeCase{DType::kQ4_K, 0.075},
                    TypeCase{DType::kQ5_K, 0.037}, TypeCase{DType::kQ6_K, 0.019}),
    [](const auto& instance) { return std::string(tensor::InfoOf(instance.param.dtype).name); });

}  // namespace
}  // namespace skald::quantizer
