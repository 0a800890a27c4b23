#include "huggingface/tensor_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "tensor/half.h"

namespace skald::huggingface {
namespace {

using formats::StoredType;

// A part of the bytes 0, 1, 2, ...
Parts CountingPart(size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i);
  Parts parts;
  parts.push_back(std::make_unique<MemorySource>(std::move(data)));
  return parts;
}

Stored StoredAt(uint64_t begin, uint64_t bytes, StoredType type) {
  return {.part = 0,
          .tensor = {.name = "x", .type = type, .shape = {}, .begin = begin, .bytes = bytes}};
}

std::vector<std::byte> Whole(const Parts& parts, const PlannedTensor& tensor) {
  std::vector<std::byte> out(tensor.slices.size() * tensor.rows * RowBytes(tensor));
  EXPECT_TRUE(ReadPlanned(parts, tensor, 0, out).ok());
  return out;
}

// Every range is that part of the whole.
void ExpectRangesAgree(const Parts& parts, const PlannedTensor& tensor) {
  const std::vector<std::byte> whole = Whole(parts, tensor);
  for (size_t begin = 0; begin < whole.size(); begin += 3) {
    for (size_t bytes = 0; begin + bytes <= whole.size(); bytes += 5) {
      std::vector<std::byte> part(bytes);
      ASSERT_TRUE(ReadPlanned(parts, tensor, begin, part).ok());
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(begin)));
    }
  }
}

TEST(TensorReader, CopiesSlicesFromWhereTheyLie) {
  const Parts parts = CountingPart(64);
  const Stored first = StoredAt(40, 12, StoredType::kF16);
  const Stored second = StoredAt(4, 12, StoredType::kF16);
  const PlannedTensor tensor = {.name = "x",
                                .dtype = tensor::DType::kF16,
                                .slices = {{.values = &first}, {.values = &second}},
                                .rows = 2,
                                .columns = 3};
  const std::vector<std::byte> whole = Whole(parts, tensor);
  EXPECT_EQ(static_cast<int>(whole[0]), 40);
  EXPECT_EQ(static_cast<int>(whole[11]), 51);
  EXPECT_EQ(static_cast<int>(whole[12]), 4);
  ExpectRangesAgree(parts, tensor);
}

TEST(TensorReader, PairsTheRowsOfEachHead) {
  const Parts parts = CountingPart(64);
  const Stored stored = StoredAt(0, 16, StoredType::kF16);
  const PlannedTensor tensor = {.name = "x",
                                .dtype = tensor::DType::kF16,
                                .change = Change::kPairRows,
                                .slices = {{.values = &stored}},
                                .rows = 8,
                                .columns = 1,
                                .heads = 2};
  std::vector<int> rows;
  const std::vector<std::byte> whole = Whole(parts, tensor);
  for (size_t i = 0; i < whole.size(); i += 2) rows.push_back(static_cast<int>(whole[i]) / 2);
  EXPECT_EQ(rows, (std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7}));
  ExpectRangesAgree(parts, tensor);
}

TEST(TensorReader, TakesEverySecondRowOfASlice) {
  const Parts parts = CountingPart(64);
  const Stored stored = StoredAt(0, 64, StoredType::kF32);
  PlannedTensor tensor = {
      .name = "x",
      .dtype = tensor::DType::kF32,
      .change = Change::kOddRows,
      .slices = {{.values = &stored, .first = 0}, {.values = &stored, .first = 1}},
      .rows = 4,
      .columns = 1};
  std::vector<int> rows;
  const std::vector<std::byte> whole = Whole(parts, tensor);
  for (size_t i = 0; i < whole.size(); i += 4) rows.push_back(static_cast<int>(whole[i]) / 4);
  EXPECT_EQ(rows, (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15}));
  ExpectRangesAgree(parts, tensor);
}

// Three value heads of two rows for each of two key heads, behind a row of something else.
TEST(TensorReader, TurnsValueHeadsFromNeighboursToOneOfEachKeyHead) {
  const Parts parts = CountingPart(64);
  const Stored halves = StoredAt(0, 26, StoredType::kF16);
  PlannedTensor tensor = {.name = "x",
                          .dtype = tensor::DType::kF16,
                          .change = Change::kTurnValueHeads,
                          .slices = {{.values = &halves}},
                          .rows = 13,
                          .columns = 1,
                          .value_heads = {.key_heads = 2, .count = 6, .size = 2}};
  std::vector<int> rows;
  std::vector<std::byte> whole = Whole(parts, tensor);
  for (size_t i = 0; i < whole.size(); i += 2) rows.push_back(static_cast<int>(whole[i]) / 2);
  EXPECT_EQ(rows, (std::vector<int>{0, 1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}));
  ExpectRangesAgree(parts, tensor);
  // The columns of two rows.
  const Stored wide = StoredAt(0, 48, StoredType::kF16);
  tensor.change = Change::kTurnValueColumns;
  tensor.slices = {{.values = &wide}};
  tensor.rows = 2;
  tensor.columns = 12;
  whole = Whole(parts, tensor);
  std::vector<int> columns;
  for (size_t i = 24; i < 48; i += 2) columns.push_back(static_cast<int>(whole[i]) / 2 - 12);
  EXPECT_EQ(columns, (std::vector<int>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  ExpectRangesAgree(parts, tensor);
}

// 1 has no rounding; e^0 is 1; the logarithm of 2 rounded comes out as 2 rounded.
TEST(TensorReader, MakesDecaysOfTheirLogarithms) {
  const std::vector<float> logs = {0, 0.693147182F, -80};
  Parts parts;
  const auto bytes = std::as_bytes(std::span(logs));
  parts.push_back(std::make_unique<MemorySource>(std::vector(bytes.begin(), bytes.end())));
  const Stored stored = StoredAt(0, 12, StoredType::kF32);
  const PlannedTensor tensor = {.name = "x",
                                .coding = Coding::kToF32,
                                .values = Values::kMinusExp,
                                .slices = {{.values = &stored}},
                                .rows = 1,
                                .columns = 3};
  std::vector<float> decays(3);
  ASSERT_TRUE(ReadPlanned(parts, tensor, 0, std::as_writable_bytes(std::span(decays))).ok());
  EXPECT_EQ(decays[0], -1);
  EXPECT_EQ(decays[1], -2);
  EXPECT_FLOAT_EQ(decays[2], -1.80485139e-35F);
}

// All 256 codes beside what the format says: 448 is the largest, 2^-9 the smallest.
TEST(TensorReader, KnowsEveryFp8) {
  std::vector<std::byte> data(256 + sizeof(float));
  for (size_t i = 0; i < 256; ++i) data[i] = static_cast<std::byte>(i);
  const float scale = 1;
  std::memcpy(data.data() + 256, &scale, sizeof(scale));
  Parts parts;
  parts.push_back(std::make_unique<MemorySource>(data));
  const Stored values = StoredAt(0, 256, StoredType::kF8E4M3);
  const Stored scales = StoredAt(256, sizeof(float), StoredType::kF32);
  const PlannedTensor tensor = {.name = "x",
                                .dtype = tensor::DType::kBF16,
                                .coding = Coding::kFp8,
                                .slices = {{.values = &values, .scales = &scales}},
                                .rows = 1,
                                .columns = 256,
                                .scale_block = 256};
  std::vector<uint16_t> words(256);
  ASSERT_TRUE(ReadPlanned(parts, tensor, 0, std::as_writable_bytes(std::span(words))).ok());
  const auto value = [&](size_t code) { return tensor::FloatFromBf16(words[code]); };
  EXPECT_EQ(value(0x00), 0.0F);
  EXPECT_EQ(value(0x01), 0.001953125F);
  EXPECT_EQ(value(0x07), 0.013671875F);
  EXPECT_EQ(value(0x08), 0.015625F);
  EXPECT_EQ(value(0x38), 1.0F);
  EXPECT_EQ(value(0x7e), 448.0F);
  EXPECT_EQ(value(0xfe), -448.0F);
  EXPECT_TRUE(std::isnan(value(0x7f)));
  for (size_t code = 1; code < 0x7f; ++code) EXPECT_GT(value(code), value(code - 1)) << code;
}

TEST(TensorReader, SaysWhichTensorCannotBeRead) {
  const Parts parts = CountingPart(8);
  const Stored stored = StoredAt(0, 64, StoredType::kF32);
  const PlannedTensor tensor = {
      .name = "x", .slices = {{.values = &stored}}, .rows = 4, .columns = 4};
  std::vector<std::byte> out(64);
  const Status status = ReadPlanned(parts, tensor, 0, out);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("tensor 'x'"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace skald::huggingface
