#include "load/bind_weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "load/network_from_gguf.h"
#include "tensor/half.h"

namespace skald::load {
namespace {

using formats::BuiltTensor;
using formats::GgufBuilder;
using formats::GgufModel;

// A network of one layer whose matrices take several units of packing.
GgufBuilder Keys() {
  return GgufBuilder()
      .Key("general.architecture", "llama")
      .Key("llama.block_count", uint32_t{1})
      .Key("llama.embedding_length", uint32_t{512})
      .Key("llama.attention.head_count", uint32_t{8})
      .Key("llama.attention.head_count_kv", uint32_t{2})
      .Key("llama.feed_forward_length", uint32_t{1536})
      .Key("llama.context_length", uint32_t{64})
      .Key("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
}

// The same with four experts of 64, of which each row uses two.
GgufBuilder MixtureKeys() {
  return Keys().Key("llama.expert_count", uint32_t{4}).Key("llama.expert_used_count", uint32_t{2});
}

model::Network EmptyNetwork(const GgufBuilder& keys = Keys()) {
  const auto file = formats::ParseGguf(keys.BuildSource());
  return *NetworkFromGguf(file->metadata, file->tensors);
}

// A part of a tensor that a test changes, and to what.
struct Patch {
  std::string tensor;
  size_t offset;
  uint32_t bits;
  size_t bytes;
};

// The file: vectors in F32, matrices in Q8_0, all zero but for the patches. `flat` names a tensor
// of slices that is written as one matrix, `nvfp4` one that is written in that type.
GgufBuilder File(const std::vector<Patch>& patches = {}, const GgufBuilder& keys = Keys(),
                 std::string_view flat = "", std::string_view nvfp4 = "") {
  GgufBuilder file = keys;
  model::Network network = EmptyNetwork(keys);
  for (const model::TensorSlot& slot : model::TensorsOf(network)) {
    if (slot.is_optional()) continue;
    const auto elements = static_cast<size_t>(slot.slices * slot.rows * slot.cols);
    BuiltTensor tensor;
    tensor.name = slot.name;
    tensor.dims = {static_cast<uint64_t>(slot.cols)};
    if (!slot.is_vector()) tensor.dims.push_back(static_cast<uint64_t>(slot.rows));
    if (slot.name == flat) tensor.dims.back() *= static_cast<uint64_t>(slot.slices);
    if (slot.slices > 1 && slot.name != flat)
      tensor.dims.push_back(static_cast<uint64_t>(slot.slices));
    tensor.type_id = slot.is_vector() ? 0 : 8;
    tensor.data = std::vector<std::byte>(slot.is_vector() ? elements * 4 : elements / 32 * 34);
    if (slot.name == nvfp4) {
      tensor.type_id = 40;
      tensor.data = std::vector<std::byte>(elements / 64 * 36);
    }
    for (const Patch& patch : patches) {
      if (patch.tensor != tensor.name) continue;
      std::memcpy(tensor.data->data() + patch.offset, &patch.bits, patch.bytes);
    }
    file.Tensor(std::move(tensor));
  }
  return file;
}

// A source that notes what it is told to drop.
class DropRecorder final : public ByteSource {
 public:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

  DropRecorder(std::vector<std::byte> bytes, Ranges* dropped)
      : source_(std::move(bytes)), dropped_(dropped) {}

  uint64_t size() const override { return source_.size(); }
  std::string_view name() const override { return source_.name(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return source_.ReadAt(offset, out);
  }
  void DropFromCache(uint64_t offset, uint64_t length) const override {
    const std::lock_guard lock(mutex_);
    dropped_->emplace_back(offset, length);
  }

 private:
  MemorySource source_;
  Ranges* dropped_;
  mutable std::mutex mutex_;
};

struct Outcome {
  PackedWeights packed;
  DropRecorder::Ranges dropped;
  uint64_t matrix_bytes = 0;
};

Outcome Pack(const GgufBuilder& builder, PageCache page_cache, int threads) {
  Outcome outcome;
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<DropRecorder>(builder.Build(), &outcome.dropped));
  const Result<GgufModel> file = GgufModel::FromSources(std::move(sources));
  EXPECT_TRUE(file.ok()) << file.status().message();
  model::Network network = EmptyNetwork();
  const auto bindings = BindTensors(network, file->tensors());
  EXPECT_TRUE(bindings.ok()) << bindings.status().message();
  for (const Binding& binding : *bindings) {
    if (!binding.slot.is_vector()) outcome.matrix_bytes += binding.tensor->byte_count;
  }
  ThreadPool pool(threads);
  Result<PackedWeights> packed =
      PackWeights(*file, *bindings, {.pool = pool, .page_cache = page_cache});
  EXPECT_TRUE(packed.ok()) << packed.status().message();
  outcome.packed = *std::move(packed);
  return outcome;
}

TEST(PackWeights, EveryTensorOfNumbersIsSilent) {
  EXPECT_EQ(Pack(File(), PageCache::kKeep, 2).packed.not_finite, std::vector<std::string>());
}

TEST(PackWeights, NamesTensorsThatAreNoNumbersInTheOrderOfTheFile) {
  constexpr uint32_t kHalfInfinity = 0x7c00;
  constexpr uint32_t kNan = 0x7fc00000;
  // The last block of the last row; the first block; an element of a vector.
  const std::vector<Patch> patches = {
      {"blk.0.ffn_down.weight", (512 * 1536 / 32 - 1) * 34, kHalfInfinity, 2},
      {"blk.0.ffn_gate.weight", 0, kHalfInfinity, 2},
      {"blk.0.attn_norm.weight", 4 * 511, kNan, 4},
  };
  for (const int threads : {1, 2, 5}) {
    const PackedWeights packed = Pack(File(patches), PageCache::kKeep, threads).packed;
    ASSERT_EQ(packed.not_finite.size(), 3u);
    const formats::GgufFile file = *formats::ParseGguf(File(patches).BuildSource());
    std::vector<std::string> in_order;
    for (const formats::TensorInfo& tensor : file.tensors.all()) {
      for (const Patch& patch : patches) {
        if (tensor.name == patch.tensor) in_order.push_back(patch.tensor);
      }
    }
    EXPECT_EQ(packed.not_finite, in_order) << threads << " threads";
  }
}

TEST(PackWeights, GivesBackEveryByteOfTheMatricesWhenAsked) {
  EXPECT_TRUE(Pack(File(), PageCache::kKeep, 2).dropped.empty());
  for (const int threads : {1, 2}) {
    const Outcome outcome = Pack(File(), PageCache::kDrop, threads);
    uint64_t bytes = 0;
    for (const auto& [offset, length] : outcome.dropped) bytes += length;
    EXPECT_EQ(bytes, outcome.matrix_bytes);
  }
}

BuiltTensor Floats(const std::string& name, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.name = name,
          .dims = {values.size()},
          .data = std::vector<std::byte>(bytes.begin(), bytes.end())};
}

// A matrix of NVFP4 has a factor for each of its slices; all else about it is as ever.
TEST(PackWeights, MatricesOfNvfp4TakeTheirFactors) {
  const std::string up = "blk.0.ffn_up_exps";
  GgufBuilder builder = File({}, MixtureKeys(), "", up + ".weight");
  builder.Tensor(Floats(up + ".scale", {0.5f, 2, 3, 4})).Tensor(Floats(up + ".input_scale", {7}));
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(builder.Build()));
  const Result<GgufModel> file = GgufModel::FromSources(std::move(sources));
  ASSERT_TRUE(file.ok()) << file.status().message();
  model::Network network = EmptyNetwork(MixtureKeys());
  const auto bindings = BindTensors(network, file->tensors());
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  ThreadPool pool(1);
  ASSERT_TRUE(PackWeights(*file, *bindings, {.pool = pool}).ok());
  for (const Binding& binding : *bindings) {
    if (binding.slot.is_vector()) continue;
    std::vector<float> factors;
    for (const auto& matrix : binding.slot.matrices()) factors.push_back(matrix.factor);
    if (binding.slot.name == up + ".weight") {
      EXPECT_EQ(factors, (std::vector<float>{0.5f, 2, 3, 4}));
    } else {
      EXPECT_EQ(factors, std::vector<float>(factors.size(), 1)) << binding.slot.name;
    }
  }
}

TEST(BindTensors, FactorsAreANumberForEachSliceOfAnNvfp4Tensor) {
  const auto problem = [](const std::string& nvfp4, const BuiltTensor& extra) {
    model::Network network = EmptyNetwork();
    GgufBuilder file = File({}, Keys(), "", nvfp4);
    const formats::GgufFile parsed = *formats::ParseGguf(file.Tensor(extra).BuildSource());
    return BindTensors(network, parsed.tensors).status().message();
  };
  const std::string down = "blk.0.ffn_down.weight";
  EXPECT_EQ(problem(down, Floats("blk.0.ffn_down.scale", {2})), "");
  EXPECT_EQ(
      problem(down, Floats("blk.0.ffn_down.scale", {2, 3})),
      "tensor 'blk.0.ffn_down.scale' has shape 2 and type F32, expected 1 of F32: the factors "
      "of 'blk.0.ffn_down.weight'");
  for (const char* unused : {"blk.0.ffn_up.scale", "blk.0.ffn_up.input_scale", "scale"}) {
    EXPECT_NE(problem(down, Floats(unused, {2})).find("this version does not use"),
              std::string::npos)
        << unused;
  }
  EXPECT_NE(problem("", Floats("blk.0.ffn_down.scale", {2})).find("this version does not use"),
            std::string::npos);
}

// Layers that predict further tokens stand behind the others in the file.
TEST(BindTensors, LeavesTheLayersThatPredictFurtherTokens) {
  model::Network network = EmptyNetwork();
  const auto problem = [&](const std::string& name) {
    GgufBuilder file = File();
    const formats::GgufFile parsed = *formats::ParseGguf(
        file.Tensor({.name = name, .dims = {512}, .data = std::vector<std::byte>(2048)})
            .BuildSource());
    return BindTensors(network, parsed.tensors).status().message();
  };
  EXPECT_NE(problem("blk.1.nextn.enorm.weight").find("'blk.1.nextn.enorm.weight'"),
            std::string::npos);
  network.prediction_layers = 2;
  EXPECT_EQ(problem("blk.1.nextn.enorm.weight"), "");
  EXPECT_EQ(problem("blk.2.nextn.enorm.weight"), "");
  for (const char* name : {"blk.3.x", "blk.0.x", "blk.-1.x", "blk.12x.x", "blk.1", "blk.", "1.x",
                           "blk.99999999999999999999.x"}) {
    EXPECT_NE(problem(name).find("tensors that this version does not use"), std::string::npos)
        << name;
  }
}

// What picks positions does nothing where all are picked.
TEST(BindTensors, LeavesAnIndexerThatPicksAll) {
  model::Network network = EmptyNetwork();
  const auto problem = [&] {
    GgufBuilder file = File();
    file.Tensor({.name = "blk.0.indexer.attn_k.weight",
                 .dims = {512},
                 .data = std::vector<std::byte>(2048)});
    const formats::GgufFile parsed = *formats::ParseGguf(file.BuildSource());
    return BindTensors(network, parsed.tensors).status().message();
  };
  EXPECT_NE(problem().find("does not use: 'blk.0.indexer.attn_k.weight'"), std::string::npos);
  network.picked_positions = network.context;
  EXPECT_EQ(problem(), "");
}

// Slices of one tensor lie one after the other in the file, each in panels of its own in memory.
TEST(PackWeights, PutsEachSliceOfATensorInItsPlace) {
  constexpr size_t kRowBytes = 512 / 32 * 34;
  constexpr size_t kSliceBytes = 1536 * kRowBytes;
  constexpr uint32_t kHalfOne = 0x3c00;
  // In slice e the first weight of row e + 17 is 5.
  std::vector<Patch> patches;
  for (size_t slice = 0; slice < 4; ++slice) {
    const size_t block = slice * kSliceBytes + (slice + 17) * kRowBytes;
    patches.push_back({"blk.0.ffn_up_exps.weight", block, kHalfOne | 5u << 16, 3});
  }
  const GgufModel file = *GgufModel::FromSources([&] {
    std::vector<std::unique_ptr<ByteSource>> sources;
    sources.push_back(std::make_unique<MemorySource>(File(patches, MixtureKeys()).Build()));
    return sources;
  }());
  model::Network network = EmptyNetwork(MixtureKeys());
  const auto bindings = BindTensors(network, file.tensors());
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  ThreadPool pool(2);
  const auto packed = PackWeights(file, *bindings, {.pool = pool});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const auto& experts = std::get<model::Experts>(network.layers[0].feed_forward);
  ASSERT_EQ(experts.up.size(), 4u);
  std::vector<float> row(512);
  for (size_t slice = 0; slice < 4; ++slice) {
    for (size_t other = 0; other < 4; ++other) {
      kernels::UnpackRow(experts.up[slice], static_cast<int64_t>(other) + 17, row.data());
      EXPECT_EQ(row[0], other == slice ? 5.0f : 0.0f) << slice << ", " << other;
    }
  }
}

// The file that a network asks for, with tensors that several slots share.
GgufModel FileOf(model::Network& network, GgufBuilder builder, const std::vector<Patch>& patches) {
  for (const model::TensorSlot& slot : model::TensorsOf(network)) {
    if (slot.is_optional() || slot.first_row > 0) continue;
    const auto rows = static_cast<uint64_t>(slot.all_rows > 0 ? slot.all_rows : slot.rows);
    const auto cols = static_cast<uint64_t>(slot.cols);
    const auto slices = static_cast<uint64_t>(slot.slices);
    BuiltTensor tensor{.name = slot.name, .dims = {cols, rows}, .type_id = 8};
    if (slices > 1) tensor.dims.push_back(slices);
    tensor.data = std::vector<std::byte>(slices * rows * cols / 32 * 34);
    if (slot.is_vector()) {
      tensor.dims = {slot.all_rows > 0 ? rows : cols};
      tensor.type_id = 0;
      std::vector<float> values(tensor.dims[0]);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
      const auto bytes = std::as_bytes(std::span(values));
      tensor.data = std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    for (const Patch& patch : patches) {
      if (patch.tensor != tensor.name) continue;
      std::memcpy(tensor.data->data() + patch.offset, &patch.bits, patch.bytes);
    }
    builder.Tensor(std::move(tensor));
  }
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(builder.Build()));
  return *GgufModel::FromSources(std::move(sources));
}

// Gate and up, and Q, K and V, as rows of one tensor; each goes to panels of its own.
TEST(PackWeights, PutsEachPartOfAFusedTensorInItsPlace) {
  constexpr size_t kRowBytes = 512 / 32 * 34;
  constexpr uint32_t kHalfOne = 0x3c00;
  // The first weight of row 17 of gate is 5, that of up 6.
  const std::vector<Patch> patches = {
      {"blk.0.ffn_up.weight", 17 * kRowBytes, kHalfOne | 5u << 16, 3},
      {"blk.0.ffn_up.weight", (1536 + 17) * kRowBytes, kHalfOne | 6u << 16, 3}};
  const auto fuse = [](model::Network& network) {
    std::get<model::Gated>(network.layers[0].feed_forward).fusion = model::Fusion::kFused;
    auto& gqa = std::get<model::Gqa>(network.layers[0].mixer);
    gqa.fusion = model::Fusion::kFused;
    gqa.bias = model::Presence::kRequired;
  };
  GgufBuilder builder = Keys();
  model::Network network = EmptyNetwork();
  fuse(network);
  const GgufModel file = FileOf(network, std::move(builder), patches);
  const auto bindings = BindTensors(network, file.tensors());
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  int64_t done = 0;
  int64_t total = 0;
  ThreadPool pool(1);
  const auto packed =
      PackWeights(file, *bindings,
                  {.pool = pool, .progress = [&](int64_t a, int64_t b) { done = a, total = b; }});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(done, total);
  const auto& gated = std::get<model::Gated>(network.layers[0].feed_forward);
  std::vector<float> row(512);
  kernels::UnpackRow(gated.gate, 17, row.data());
  EXPECT_EQ(row[0], 5.0f);
  kernels::UnpackRow(gated.up, 17, row.data());
  EXPECT_EQ(row[0], 6.0f);
  const auto& gqa = std::get<model::Gqa>(network.layers[0].mixer);
  EXPECT_EQ(gqa.query_bias.size(), 512u);
  EXPECT_EQ(gqa.key_bias.front(), 512.0f);
  EXPECT_EQ(gqa.value_bias.back(), 512.0f + 2 * 128 - 1);
  // A tensor of another height is not two matrices.
  std::get<model::Gated>(network.layers[0].feed_forward).hidden = 1024;
  EXPECT_NE(BindTensors(network, file.tensors())
                .status()
                .message()
                .find("'blk.0.ffn_up.weight' has shape 512 x 3072, expected 512 x 2048"),
            std::string::npos);
}

// Gate and up of each expert as rows of one slice.
TEST(PackWeights, PutsEachPartOfAFusedSliceInItsPlace) {
  constexpr size_t kRowBytes = 512 / 32 * 34;
  constexpr size_t kSliceBytes = 2 * 1536 * kRowBytes;
  constexpr uint32_t kHalfOne = 0x3c00;
  const auto patch = [](size_t slice, size_t row, uint32_t value) {
    return Patch{"blk.0.ffn_gate_up_exps.weight", slice * kSliceBytes + row * kRowBytes,
                 kHalfOne | value << 16, 3};
  };
  model::Network network = EmptyNetwork(MixtureKeys());
  auto& experts = std::get<model::Experts>(network.layers[0].feed_forward);
  experts.fusion = model::Fusion::kFused;
  const std::vector<Patch> patches = {patch(0, 17, 3), patch(0, 1536 + 17, 4), patch(3, 17, 5),
                                      patch(3, 1536 + 17, 6)};
  const GgufModel file = FileOf(network, MixtureKeys(), patches);
  const auto bindings = BindTensors(network, file.tensors());
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  ThreadPool pool(2);
  const auto packed = PackWeights(file, *bindings, {.pool = pool});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const auto first = [](const kernels::PackedMatrix& matrix) {
    std::vector<float> row(512);
    kernels::UnpackRow(matrix, 17, row.data());
    return row[0];
  };
  EXPECT_EQ(first(experts.gate[0]), 3.0f);
  EXPECT_EQ(first(experts.up[0]), 4.0f);
  EXPECT_EQ(first(experts.gate[1]), 0.0f);
  EXPECT_EQ(first(experts.gate[3]), 5.0f);
  EXPECT_EQ(first(experts.up[3]), 6.0f);
  experts.hidden = 1024;
  EXPECT_NE(BindTensors(network, file.tensors()).status().message().find("expected 512 x 2048 x 4"),
            std::string::npos);
}

// Of each head 16 rows of keys, which are columns of K_h, and 24 of values, in one tensor.
TEST(PackWeights, PutsTheKeysAndValuesOfLatentAttentionInTheirPlaces) {
  model::Network network = EmptyNetwork();
  network.layers[0].mixer = model::Mla{.width = 512,
                                       .heads = 3,
                                       .nope_dim = 16,
                                       .rope_dim = 8,
                                       .value_dim = 24,
                                       .rank = 32,
                                       .scale = 1,
                                       .key_value = model::Fusion::kFused};
  GgufBuilder builder = Keys();
  for (const model::TensorSlot& slot : model::TensorsOf(network)) {
    if (slot.is_optional() || slot.name.ends_with("attn_kv_b.weight")) continue;
    BuiltTensor tensor{.name = slot.name, .dims = {static_cast<uint64_t>(slot.cols)}};
    if (!slot.is_vector()) tensor.dims.push_back(static_cast<uint64_t>(slot.rows));
    tensor.data = std::vector<std::byte>(static_cast<size_t>(4 * slot.rows * slot.cols));
    builder.Tensor(std::move(tensor));
  }
  // Element c of row r is 32 r + c.
  std::vector<float> floats(3 * 40 * 32);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i);
  const auto bytes = std::as_bytes(std::span(floats));
  const auto with = [&](std::vector<uint64_t> dims) {
    GgufBuilder whole = builder;
    whole.Tensor({.name = "blk.0.attn_kv_b.weight",
                  .dims = std::move(dims),
                  .data = std::vector<std::byte>(bytes.begin(), bytes.end())});
    std::vector<std::unique_ptr<ByteSource>> sources;
    sources.push_back(std::make_unique<MemorySource>(whole.Build()));
    return *GgufModel::FromSources(std::move(sources));
  };
  const GgufModel file = with({32, 120});
  const auto bindings = BindTensors(network, file.tensors());
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  int64_t done = 0;
  int64_t total = 0;
  ThreadPool pool(1);
  const auto packed =
      PackWeights(file, *bindings,
                  {.pool = pool, .progress = [&](int64_t a, int64_t b) { done = a, total = b; }});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(done, total);
  const auto& mla = std::get<model::Mla>(network.layers[0].mixer);
  ASSERT_EQ(mla.key_up.size(), 3u);
  ASSERT_EQ(mla.value_up.size(), 3u);
  std::vector<float> row(32);
  for (size_t head = 0; head < 3; ++head) {
    const size_t first = head * 40;
    for (const int64_t i : {0, 17, 31}) {
      kernels::UnpackRow(mla.key_up[head], i, row.data());
      for (size_t c = 0; c < 16; ++c) EXPECT_EQ(row[c], (first + c) * 32 + static_cast<size_t>(i));
    }
    kernels::UnpackRow(mla.value_up[head], 23, row.data());
    EXPECT_EQ(row[5], static_cast<float>((first + 16 + 23) * 32 + 5));
  }
  EXPECT_EQ(BindTensors(network, with({40, 96}).tensors()).status().message(),
            "tensor 'blk.0.attn_kv_b.weight' has shape 40 x 96, expected 32 x 120");
}

// A matrix with as many rows in all may be meant in another way.
TEST(BindTensors, ATensorOfSlicesMustBeOne) {
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(
      std::make_unique<MemorySource>(File({}, MixtureKeys(), "blk.0.ffn_up_exps.weight").Build()));
  const GgufModel file = *GgufModel::FromSources(std::move(sources));
  model::Network network = EmptyNetwork(MixtureKeys());
  const auto bindings = BindTensors(network, file.tensors());
  ASSERT_FALSE(bindings.ok());
  EXPECT_EQ(bindings.status().message(),
            "tensor 'blk.0.ffn_up_exps.weight' has shape 512 x 6144, expected 512 x 1536 x 4");
}

TEST(PageCacheRule, DropsWhatWouldFillHalfOfTheMachineTogetherWithTheWeights) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(PageCacheRule(0, 16 * kGiB), PageCache::kKeep);
  EXPECT_EQ(PageCacheRule(4 * kGiB, 16 * kGiB), PageCache::kKeep);
  EXPECT_EQ(PageCacheRule(4 * kGiB + 1, 16 * kGiB), PageCache::kDrop);
  EXPECT_EQ(PageCacheRule(UINT64_MAX, 16 * kGiB), PageCache::kDrop);
}

}  // namespace
}  // namespace skald::load
