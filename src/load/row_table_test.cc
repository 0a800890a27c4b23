// Tables of rows: the same bits from the file as from memory.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "kernels/test_data.h"
#include "load/bind_weights.h"

namespace skald::load {
namespace {

constexpr int64_t kRows = 37;
constexpr int64_t kCols = 512;

// Random blocks with scales that are numbers.
std::vector<std::byte> RandomTable(tensor::DType dtype) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  std::mt19937 random(3);
  std::vector<std::byte> bytes(
      static_cast<size_t>(kRows * kCols / info.block_elements * info.block_bytes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 120);
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(info.block_bytes)) {
    kernels::StoreScales(dtype, 0.01f * static_cast<float>(1 + block % 7), bytes.data() + block);
  }
  return bytes;
}

// A file that ends where it is told to.
class ShrinkingSource final : public ByteSource {
 public:
  ShrinkingSource(std::vector<std::byte> bytes, const bool* broken)
      : source_(std::move(bytes)), broken_(broken) {}

  uint64_t size() const override { return source_.size(); }
  std::string_view name() const override { return source_.name(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (*broken_) return Status(ErrorCode::kIo, "the file has shrunk");
    return source_.ReadAt(offset, out);
  }

 private:
  MemorySource source_;
  const bool* broken_;
};

// A file with one table, and its rows from memory and from the file.
struct Tables {
  bool broken = false;
  std::shared_ptr<const formats::GgufModel> file;
  AlignedBuffer storage;
  model::RowTable in_memory;
  model::RowTable in_file;

  std::vector<float> Row(const model::RowTable& table, int64_t row) const {
    std::vector<std::byte> scratch(static_cast<size_t>(table.scratch_bytes()));
    std::vector<float> out(kCols);
    table.Row(row, scratch.data(), out.data());
    return out;
  }
};

model::TensorSlot SlotFor(model::RowTable* table) {
  return {.name = "table", .rows = kRows, .cols = kCols, .place = table};
}

void Load(tensor::DType dtype, Tables* tables) {
  formats::BuiltTensor tensor = {
      .name = "table", .dims = {kCols, kRows}, .type_id = tensor::InfoOf(dtype).gguf_id};
  tensor.data = RandomTable(dtype);
  formats::GgufBuilder file;
  file.Key("general.architecture", "llama").Tensor(std::move(tensor));
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<ShrinkingSource>(file.Build(), &tables->broken));
  auto opened = formats::GgufModel::FromSources(std::move(sources));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  tables->file = std::make_shared<const formats::GgufModel>(*std::move(opened));
  const formats::TensorInfo* info = tables->file->tensors().Find("table");
  const std::vector<Binding> bindings = {
      {.slot = SlotFor(&tables->in_memory), .tensor = info},
      {.slot = SlotFor(&tables->in_file), .tensor = info, .home = Home::kFile}};
  ThreadPool pool(2);
  auto packed = PackWeights(*tables->file, bindings, {.pool = pool});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  tables->storage = std::move(packed->storage);
  EXPECT_EQ(static_cast<int64_t>(tables->storage.size()), PackedBytes(bindings));
  AttachTables(tables->file, bindings);
}

TEST(RowTable, RowsFromTheFileHaveTheBitsOfThoseInMemory) {
  for (const tensor::DType dtype :
       {tensor::DType::kF32, tensor::DType::kF16, tensor::DType::kBF16, tensor::DType::kQ8_0,
        tensor::DType::kQ4_K, tensor::DType::kQ5_K, tensor::DType::kQ6_K, tensor::DType::kQ5_1}) {
    SCOPED_TRACE(tensor::InfoOf(dtype).name);
    Tables tables;
    Load(dtype, &tables);
    EXPECT_EQ(tables.in_memory.reader, nullptr);
    EXPECT_EQ(tables.in_file.packed.panels, nullptr);
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<float> expected = tables.Row(tables.in_memory, row);
      EXPECT_EQ(tables.Row(tables.in_file, row), expected) << row;
      EXPECT_TRUE(std::isfinite(expected[5]));
    }
  }
}

TEST(RowTable, ARowThatCannotBeReadAnyMoreIsNoNumber) {
  Tables tables;
  Load(tensor::DType::kQ8_0, &tables);
  tables.broken = true;
  for (const float value : tables.Row(tables.in_file, kRows - 1)) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace skald::load
