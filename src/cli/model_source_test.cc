#include "cli/model_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace skald::cli {
namespace {

std::string Reference(const std::string& name) {
  const std::optional<ModelReference> reference = AsReference(name);
  return reference ? ToText(*reference) : "";
}

TEST(AsReference, IsWhatSaysWhereItComesFrom) {
  EXPECT_EQ(Reference("hf://o/n:Q8_0"), "hf://o/n:Q8_0");
  EXPECT_EQ(Reference("hf.co/o/n"), "hf://o/n");
  EXPECT_EQ(Reference("https://h/x.gguf"), "https://h/x.gguf");
  EXPECT_EQ(Reference("owner-nobody-has/name"), "hf://owner-nobody-has/name");
}

TEST(AsReference, APathStaysAPath) {
  for (const char* path : {"./o/n", "/o/n", "~/n", "o/n.gguf", "a/b/c", "name", "llama3.2:1b", ""})
    EXPECT_EQ(Reference(path), "") << path;
  // A folder that is there: the name is a path below it, though misspelled.
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path here = testing::TempDir() + "/as_reference";
  std::filesystem::create_directories(here / "models");
  std::filesystem::current_path(here);
  EXPECT_EQ(Reference("models/x"), "");
  EXPECT_EQ(Reference("model/x"), "hf://model/x");
  std::filesystem::current_path(before);
  std::filesystem::remove_all(here);
}

TEST(HubOptionsOf, TakesTheTokenFromItsFile) {
  const std::string path = testing::TempDir() + "/hub_token";
  std::ofstream(path) << "hf_abc\n";
  Environment environment;
  environment.home = "/home/u";
  environment.hub = {.cache_dir = "/c", .endpoint = "http://h/", .token_file = path};
  EXPECT_EQ(HubOptionsOf(environment)->token, "hf_abc");
  EXPECT_EQ(HubOptionsOf(environment)->endpoint, "http://h");
  EXPECT_EQ(HubOptionsOf(environment)->files_dir, "/home/u/.local/share/skald/models");
  environment.hub.token = "other";
  EXPECT_EQ(HubOptionsOf(environment)->token, "other");
  // It becomes a line of a request: two lines are an attack.
  environment.hub.token = "a\r\nHost: b";
  EXPECT_EQ(HubOptionsOf(environment).status().code(), ErrorCode::kInvalidArgument);
  std::filesystem::remove(path);
}

TEST(LocateModel, SaysWhenItMayNotFetch) {
  Environment environment;
  environment.hub.cache_dir = testing::TempDir() + "/no_such_cache";
  environment.hub.is_offline = true;
  Console console(environment.terminals);
  EXPECT_EQ(LocateModel(environment, "hf://o/n", console).status().message(),
            "hf://o/n is not here, and HF_HUB_OFFLINE forbids to fetch it");
  EXPECT_EQ(LocateModel(environment, "hf://o", console).status().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald::cli
