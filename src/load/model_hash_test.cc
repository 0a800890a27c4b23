#include "load/model_hash.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::load {
namespace {

struct Made {
  std::string key = "general.name";
  std::string value = "llama";
  std::string tensor = "a";
  std::vector<uint64_t> dims = {4, 2};
  int flipped_bit = -1;  // of the weights
};

std::string HashOf(const Made& made) {
  std::vector<std::byte> data(32, std::byte{7});
  if (made.flipped_bit >= 0) {
    data[static_cast<size_t>(made.flipped_bit) / 8] ^= std::byte{1} << (made.flipped_bit % 8);
  }
  formats::GgufBuilder builder;
  builder.Key("general.architecture", "llama")
      .Key(made.key, made.value)
      .Tensor({.name = made.tensor, .dims = made.dims, .data = data});
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(builder.Build(), "model"));
  const auto model = formats::GgufModel::FromSources(std::move(sources));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *HashOfModel(*model);
}

TEST(ModelHash, ChangesWithEveryBitOfTheWeights) {
  std::set<std::string> hashes = {HashOf({})};
  for (int bit = 0; bit < 256; ++bit) hashes.insert(HashOf({.flipped_bit = bit}));
  EXPECT_EQ(hashes.size(), 257u);
}

TEST(ModelHash, ChangesWithKeysNamesAndShapes) {
  const std::set<std::string> hashes = {HashOf({}),
                                        HashOf({.key = "general.namf"}),
                                        HashOf({.value = "llamb"}),
                                        HashOf({.value = "llam"}),
                                        HashOf({.tensor = "b"}),
                                        HashOf({.dims = {2, 4}}),
                                        HashOf({.dims = {8}})};
  EXPECT_EQ(hashes.size(), 7u);
}

// By the form that the header writes down, with another program's eyes.
TEST(ModelHash, IsMadeAsItsHeaderSays) {
  const auto number = [](uint64_t n) {
    return std::string(1, static_cast<char>(n)) + std::string(7, '\0');
  };
  Sha256 weights;
  weights.Add(std::string(32, '\7'));
  const std::string zero(1, '\0');
  Sha256 hash;
  hash.Add("skald model 1\n");
  for (const std::string key : {"general.architecture", "general.name"}) {
    hash.Add(key + zero + "\x08\x08" + number(5) + "llama");
  }
  hash.Add("a" + zero + "F32" + zero + number(4) + number(2) + number(1) + number(1));
  hash.Add(weights.TakeBytes());
  EXPECT_EQ(HashOf({}), hash.Take());
}

}  // namespace
}  // namespace skald::load
