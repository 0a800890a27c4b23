#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::formats {
namespace {

std::vector<std::byte> Filled(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

// Part `number` (from 0) of `count`, with one tensor of 4 floats whose bytes are all `number`.
GgufBuilder Part(uint16_t number, uint16_t count) {
  GgufBuilder builder;
  if (number == 0) builder.Key("general.architecture", "llama");
  builder.Key("split.no", number).Key("split.count", count);
  builder.Key("split.tensors.count", static_cast<int32_t>(count));
  builder.Tensor({.name = fmt::format("t{}", number), .dims = {4}, .data = Filled(16, number)});
  return builder;
}

std::vector<std::unique_ptr<ByteSource>> Sources(const std::vector<GgufBuilder>& builders) {
  std::vector<std::unique_ptr<ByteSource>> sources;
  for (const GgufBuilder& builder : builders) {
    const std::string name = fmt::format("part{}", sources.size() + 1);
    sources.push_back(std::make_unique<MemorySource>(builder.Build(), name));
  }
  return sources;
}

std::string ErrorOf(const std::vector<GgufBuilder>& builders) {
  const auto model = GgufModel::FromSources(Sources(builders));
  return model.ok() ? "no error" : model.status().message();
}

std::vector<std::byte> Read(const GgufModel& model, std::string_view name) {
  const TensorInfo* tensor = model.tensors().Find(name);
  std::vector<std::byte> bytes(tensor->byte_count);
  EXPECT_TRUE(model.ReadTensor(*tensor, 0, bytes).ok());
  return bytes;
}

TEST(GgufModel, OneFile) {
  GgufBuilder builder;
  builder.Key("general.architecture", "llama")
      .Tensor({.name = "a", .dims = {4}, .data = Filled(16, 7)});
  const auto model = GgufModel::FromSources(Sources({builder}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->part_count(), 1u);
  EXPECT_EQ(model->name(), "part1");
  EXPECT_EQ(model->version(), 3u);
  EXPECT_EQ(model->alignment(), 32u);
  EXPECT_EQ(model->file_bytes(), builder.Build().size());
  EXPECT_EQ(Read(*model, "a"), Filled(16, 7));
}

TEST(GgufModel, PartsOfATensorCanBeRead) {
  std::vector<std::byte> data;
  for (int i = 0; i < 16; ++i) data.push_back(static_cast<std::byte>(i));
  GgufBuilder builder;
  builder.Key("general.architecture", "llama").Tensor({.name = "a", .dims = {4}, .data = data});
  const auto model = GgufModel::FromSources(Sources({builder}));
  ASSERT_TRUE(model.ok());
  std::vector<std::byte> bytes(3);
  ASSERT_TRUE(model->ReadTensor(*model->tensors().Find("a"), 13, bytes).ok());
  EXPECT_EQ(bytes, std::vector<std::byte>(data.end() - 3, data.end()));
}

TEST(GgufModel, SplitFilesAreOneModel) {
  const auto model = GgufModel::FromSources(Sources({Part(0, 3), Part(1, 3), Part(2, 3)}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->part_count(), 3u);
  EXPECT_EQ(model->tensors().size(), 3u);
  EXPECT_EQ(*model->metadata().GetString("general.architecture"), "llama");
  EXPECT_EQ(Read(*model, "t0"), Filled(16, 0));
  EXPECT_EQ(Read(*model, "t2"), Filled(16, 2));
}

TEST(GgufModel, ArchitectureMustBeAPlainName) {
  const auto error = [](const GgufBuilder& builder) { return ErrorOf({builder}); };
  EXPECT_EQ(error(GgufBuilder()),
            "part1: key 'general.architecture' is missing, expected a string");
  EXPECT_EQ(error(GgufBuilder().Key("general.architecture", uint32_t{1})),
            "part1: key 'general.architecture': expected a string, found type uint32");
  EXPECT_EQ(error(GgufBuilder().Key("general.architecture", std::string_view("llama\0x", 7))),
            "part1: key 'general.architecture': expected 1 to 64 bytes of a-z 0-9 _ - ., found "
            "'llama\\x00x'");
  for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("Llama"),
                                  std::string("../x"), std::string(1 << 20, 'a')}) {
    EXPECT_NE(error(GgufBuilder().Key("general.architecture", name)).find("expected 1 to 64 bytes"),
              std::string::npos);
  }
  for (const char* name : {"a", "gpt-oss", "t5_encoder", "qwen2.5"}) {
    EXPECT_EQ(error(GgufBuilder().Key("general.architecture", name)), "no error");
  }
}

TEST(GgufModel, PartsMustBelongTogether) {
  EXPECT_EQ(ErrorOf({Part(0, 3), Part(1, 3)}), "part1: expected part 1 of 2, found part 1 of 3");
  EXPECT_EQ(ErrorOf({Part(0, 2), Part(0, 2)}),
            "part1: tensor 't0': stands in part 1 and in part 2");
  EXPECT_EQ(ErrorOf({Part(0, 3), Part(2, 3), Part(1, 3)}),
            "part2: expected part 2 of 3, found part 3 of 3");
  EXPECT_EQ(ErrorOf({Part(1, 2), Part(0, 2)}),
            "part1: key 'split.no': is part 2 of 2 of a split model, expected the first part");
  GgufBuilder single;
  single.Key("general.architecture", "llama").Tensor({.name = "x", .dims = {1}});
  EXPECT_EQ(ErrorOf({Part(0, 2), single}), "part2: expected part 2 of 2, found part 1 of 1");
}

TEST(GgufModel, PartsMustAgree) {
  GgufBuilder other = Part(1, 2);
  EXPECT_EQ(ErrorOf({Part(0, 2), other}), "no error");
  other.Key("general.architecture", "qwen2");
  EXPECT_EQ(ErrorOf({Part(0, 2), other}),
            "part2: key 'general.architecture': expected 'llama' as in the first part, found "
            "'qwen2'");
  GgufBuilder more = Part(1, 2);
  more.Tensor({.name = "extra", .dims = {1}});
  EXPECT_EQ(ErrorOf({Part(0, 2), more}),
            "part1: key 'split.tensors.count': all parts together have 3 tensors, found 2");
}

TEST(GgufModel, PartCountIsBounded) {
  for (const uint16_t count : {uint16_t{0}, uint16_t{513}, uint16_t{65535}}) {
    EXPECT_EQ(ErrorOf({Part(0, count)}),
              "part1: key 'split.count': expected 1 to 512, found " + std::to_string(count));
  }
}

// Models on disk, each test in a folder of its own.
class GgufFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "skald-gguf-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const GgufBuilder& builder) const {
    const std::vector<std::byte> bytes = builder.Build();
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return (folder_ / name).string();
  }
  static std::string ErrorOf(const std::string& path) {
    const auto model = GgufModel::Open(path);
    return model.ok() ? "no error" : model.status().message();
  }

  std::filesystem::path folder_;
};

TEST_F(GgufFilesTest, PartsAreOpenedBesideTheFirst) {
  const std::string first = Write("m-00001-of-00002.gguf", Part(0, 2));
  const std::string second = Write("m-00002-of-00002.gguf", Part(1, 2));
  const auto model = GgufModel::Open(first);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->part_count(), 2u);
  EXPECT_EQ(Read(*model, "t1"), Filled(16, 1));
  EXPECT_EQ(ErrorOf(second), second +
                                 ": key 'split.no': is part 2 of 2 of a split model, expected "
                                 "the first part");
}

TEST_F(GgufFilesTest, MissingPartIsNotFoundAndNamed) {
  const std::string first = Write("m-00001-of-00002.gguf", Part(0, 2));
  const auto model = GgufModel::Open(first);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(model.status().message(),
            first + ": split model: " + (folder_ / "m-00002-of-00002.gguf").string() +
                ": cannot open: No such file or directory");
}

TEST_F(GgufFilesTest, FirstPartUnderAnotherNameIsRefused) {
  const std::string path = Write("renamed.gguf", Part(0, 2));
  EXPECT_EQ(ErrorOf(path), path +
                               ": is the first of 2 parts, so its name must end in "
                               "-00001-of-00002.gguf");
  const std::string wrong = Write("m-00001-of-00003.gguf", Part(0, 2));
  EXPECT_NE(ErrorOf(wrong).find("must end in -00001-of-00002.gguf"), std::string::npos);
}

TEST_F(GgufFilesTest, FileThatShrinksAfterOpeningIsAnErrorOfTheTensor) {
  GgufBuilder builder;
  builder.Key("general.architecture", "llama").Tensor({.name = "a", .dims = {4096}});
  const std::string path = Write("a.gguf", builder);
  const auto model = GgufModel::Open(path);
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(truncate(path.c_str(), 1000), 0);
  std::vector<std::byte> bytes(16384);
  const Status status = model->ReadTensor(*model->tensors().Find("a"), 0, bytes);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_TRUE(status.message().starts_with(
      path + ": tensor 'a': the file shrank while it was read: expected 16384 bytes at offset"))
      << status.message();
}

TEST_F(GgufFilesTest, SparseBytesAfterTheLastTensorCostNothing) {
  const std::string path = Write("a.gguf", Part(0, 1));
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 30), 0);
  EXPECT_EQ(ErrorOf(path), "no error");
}

TEST_F(GgufFilesTest, FilesThatAreNoGgufSayWhatTheyAre) {
  const std::string path = (folder_ / "x.gguf").string();
  std::ofstream(path) << "PK\x03\x04 a zip";
  EXPECT_EQ(ErrorOf(path), path + ": is no GGUF file: starts with 'PK\\x03\\x04', expected 'GGUF'");
  EXPECT_EQ(ErrorOf(folder_.string()),
            folder_.string() + ": is a directory, expected a regular file");
}

}  // namespace
}  // namespace skald::formats
