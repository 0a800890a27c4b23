#include "cli/model_lookup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

TEST(ModelDirectories, PutsTheUsersBeforeTheBundled) {
  Environment environment;
  environment.models = "/a:/b c";
  environment.data_home = "/data";
  environment.home = "/home/u";
  environment.executable_dir = "/src/skald/build/release";
  EXPECT_EQ(ModelDirectories(environment),
            (Paths{"/a", "/b c", "/data/skald/models", "/src/skald/build/share/skald/models",
                   "/src/skald/models/tales"}));
}

TEST(ModelDirectories, FallsBackToTheHomeDirectory) {
  Environment environment;
  environment.home = "/home/u";
  EXPECT_EQ(ModelDirectories(environment), (Paths{"/home/u/.local/share/skald/models"}));
}

TEST(ModelDirectories, SkipsEmptyEntries) {
  Environment environment;
  EXPECT_EQ(ModelDirectories(environment), Paths{});
  environment.models = ":/a::/b:";
  EXPECT_EQ(ModelDirectories(environment), (Paths{"/a", "/b"}));
}

// Two search directories, first and second.
class LookupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("skald_lookup_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "first");
    fs::create_directories(folder_ / "second");
    environment_.models = (folder_ / "first").string() + ":" + (folder_ / "second").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "x";
    return path.string();
  }

  fs::path folder_;
  Environment environment_;
};

TEST_F(LookupTest, FindsANameWithAndWithoutItsExtension) {
  const std::string path = Put("second/tales.gguf");
  EXPECT_EQ(*FindModel(environment_, "tales"), path);
  EXPECT_EQ(*FindModel(environment_, "tales.gguf"), path);
}

TEST_F(LookupTest, TakesTheFirstOfEqualNames) {
  Put("second/a.gguf");
  const std::string path = Put("first/a.gguf");
  EXPECT_EQ(*FindModel(environment_, "a"), path);
  ASSERT_EQ(FindModels(environment_).size(), 1u);
  EXPECT_EQ(FindModels(environment_)[0].path, path);
}

TEST_F(LookupTest, LeavesPathsAlone) {
  EXPECT_EQ(*FindModel(environment_, "./tales"), "./tales");
  EXPECT_EQ(*FindModel(environment_, "/nonexistent/x.gguf"), "/nonexistent/x.gguf");
}

TEST_F(LookupTest, ListsWhatThereIsWhenANameIsUnknown) {
  Put("first/b.gguf");
  Put("first/a.gguf");
  const Result<std::string> path = FindModel(environment_, "c");
  EXPECT_EQ(path.status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(path.status().message(),
            "no file and no model named 'c'; there are: a, b; type one of them, the path of a "
            "GGUF file, or hf://OWNER/NAME to pull one");
}

TEST_F(LookupTest, NamesThePlacesWhenThereIsNothing) {
  const Result<std::string> path = FindModel(environment_, "c");
  EXPECT_EQ(path.status().message(), "no file and no model named 'c', and no models in " +
                                         (folder_ / "first").string() + ", " +
                                         (folder_ / "second").string() +
                                         "; type the path of a GGUF file, or "
                                         "hf://OWNER/NAME to pull one");
}

TEST_F(LookupTest, RefusesAnEmptyName) {
  EXPECT_EQ(FindModel(environment_, "").status().code(), ErrorCode::kInvalidArgument);
}

TEST_F(LookupTest, TakesAFolderWithAConfig) {
  fs::create_directories(folder_ / "first/plain");
  EXPECT_FALSE(FindModel(environment_, "plain").ok());
  EXPECT_FALSE(IsModelHere(environment_, (folder_ / "first/plain").string()));
  Put("first/plain/config.json");
  EXPECT_EQ(*FindModel(environment_, "plain"), (folder_ / "first/plain").string());
  EXPECT_TRUE(IsModelHere(environment_, (folder_ / "first/plain").string()));
}

TEST_F(LookupTest, IsNotShadowedByADirectoryOfThatName) {
  fs::create_directories(folder_ / "first/tales.gguf");
  const std::string path = Put("second/tales.gguf");
  EXPECT_EQ(*FindModel(environment_, "tales"), path);
}

TEST_F(LookupTest, ListsOnlyModelFilesAndFirstParts) {
  Put("first/big-00001-of-00002.gguf");
  Put("first/big-00002-of-00002.gguf");
  Put("first/odd-00002-of-x0002.gguf");
  Put("first/notes.txt");
  const std::vector<FoundModel> models = FindModels(environment_);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "big-00001-of-00002");
  EXPECT_EQ(models[0].file_bytes, 1);
  EXPECT_EQ(models[1].name, "odd-00002-of-x0002");
}

}  // namespace
}  // namespace skald::cli
