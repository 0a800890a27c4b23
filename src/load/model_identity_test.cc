#include "load/model_identity.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::load {
namespace {

// A model of one tensor of 16 KiB, with `changed` of its bytes another one.
uint64_t IdentityOf(std::string name, const std::string& chat_template, int64_t changed = -1) {
  std::vector<std::byte> data(16384, std::byte{7});
  if (changed >= 0) data[static_cast<size_t>(changed)] = std::byte{8};
  formats::GgufBuilder builder;
  builder.Key("general.architecture", "llama")
      .Key("tokenizer.chat_template", chat_template)
      .Tensor({.name = std::move(name), .dims = {4096}, .data = std::move(data)});
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(builder.Build(), "model"));
  const auto model = formats::GgufModel::FromSources(std::move(sources));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *ModelIdentity(*model);
}

TEST(ModelIdentity, IsThatOfTheFile) { EXPECT_EQ(IdentityOf("a", "x"), IdentityOf("a", "x")); }

TEST(ModelIdentity, ChangesWithKeysNamesAndWeights) {
  std::string template_of_3000(3000, 'x');
  const std::string one = template_of_3000;
  template_of_3000.back() = 'y';
  const std::set<uint64_t> all = {IdentityOf("a", "x"), IdentityOf("b", "x"), IdentityOf("a", "y"),
                                  IdentityOf("a", one), IdentityOf("a", template_of_3000),
                                  // The first, a middle and the last byte of the weights.
                                  IdentityOf("a", "x", 0), IdentityOf("a", "x", 8192),
                                  IdentityOf("a", "x", 16383)};
  EXPECT_EQ(all.size(), 8u);
}

}  // namespace
}  // namespace skald::load
