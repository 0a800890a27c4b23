#include "cli/other_models.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

class OtherModelsTest : public testing::Test {
 protected:
  OtherModelsTest()
      : root_(testing::TempDir() + "/other_models_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    environment_.hub.cache_dir = root_ + "/hub";
    environment_.others = {.ollama = root_ + "/ollama",
                           .llama_cpp = root_ + "/llama.cpp",
                           .lm_studio = root_ + "/lmstudio"};
  }
  ~OtherModelsTest() override { fs::remove_all(root_); }

  std::string Put(const std::string& name, const std::string& text = "GGUF") const {
    const fs::path path = root_ + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  // "origin name" of each.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const FoundModel& model : ModelsOfOthers(environment_))
      names.push_back(model.origin + " " + model.name);
    return names;
  }

  std::string root_;
  Environment environment_;
};

TEST_F(OtherModelsTest, NothingIsThere) { EXPECT_EQ(Names(), (std::vector<std::string>{})); }

TEST_F(OtherModelsTest, FindsFilesWhereverTheyLie) {
  Put("llama.cpp/owner_model-Q4_K_M.gguf");
  Put("llama.cpp/owner_mmproj.gguf");
  Put("llama.cpp/model.gguf.json");
  Put("lmstudio/owner/name/b-00001-of-00002.gguf");
  Put("lmstudio/owner/name/b-00002-of-00002.gguf");
  Put("hub/models--owner--name/snapshots/abc/q/a-Q8_0.gguf");
  Put("hub/models--owner--name/blobs/xyz.gguf");
  Put("hub/datasets--owner--name/snapshots/abc/x.gguf");
  EXPECT_EQ(Names(), (std::vector<std::string>{"Hugging Face hf://owner/name:q/a-Q8_0.gguf",
                                               "llama.cpp owner_model-Q4_K_M",
                                               "LM Studio b-00001-of-00002"}));
}

std::string Manifest(const std::string& type, const std::string& digest) {
  return R"({"layers":[{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:l"},)"
         R"({"mediaType":"application/vnd.ollama.image.)" +
         type + R"(","digest":")" + digest + R"("}]})";
}

TEST_F(OtherModelsTest, ReadsOllamasManifests) {
  const std::string blob = Put("ollama/blobs/sha256-aa");
  const std::string host = "ollama/manifests/registry.ollama.ai/";
  Put(host + "library/llama3.2/1b", Manifest("model", "sha256:aa"));
  Put(host + "someone/tuned/latest", Manifest("model", "sha256:aa"));
  Put("ollama/manifests/hf.co/owner/name/Q4_K_M", Manifest("model", "sha256:aa"));
  Put(host + "library/gone/latest", Manifest("model", "sha256:bb"));
  Put(host + "library/away/latest", Manifest("model", "sha256:../../llama.cpp/x"));
  Put(host + "library/other/latest", Manifest("adapter", "sha256:aa"));
  Put(host + "library/broken/latest", "{");
  EXPECT_EQ(Names(),
            (std::vector<std::string>{"Ollama hf.co/owner/name:Q4_K_M", "Ollama llama3.2:1b",
                                      "Ollama someone/tuned:latest"}));
  EXPECT_EQ(*FindModel(environment_, "llama3.2:1b"), blob);
  EXPECT_FALSE(FindModel(environment_, "llama3.2").ok());
}

}  // namespace
}  // namespace skald::cli
