#include "hub/file_list.h"

#include <gtest/gtest.h>

namespace skald::hub {
namespace {

std::vector<ListedFile> Files(const std::vector<std::string>& paths) {
  std::vector<ListedFile> files;
  for (const std::string& path : paths) files.push_back({.path = path, .bytes = 1});
  return files;
}

// The paths chosen, or the error.
std::string Choose(const std::vector<std::string>& paths, std::string_view choice) {
  const Result<std::vector<ListedFile>> chosen = ChooseModel(Files(paths), choice);
  if (!chosen.ok())
    return std::string(ErrorCodeName(chosen.status().code())) + ": " + chosen.status().message();
  std::string text;
  for (const ListedFile& file : *chosen) text += (text.empty() ? "" : " ") + file.path;
  return text;
}

const std::vector<std::string> kUsual = {".gitattributes",   "README.md",      "m-Q8_0.gguf",
                                         "m-Q4_K_M.gguf",    "m-Q4_K_S.gguf",  "m-F16.gguf",
                                         "m-UD-Q4_K_M.gguf", "mmproj-F16.gguf"};

TEST(ChooseModel, TakesTheUsualSizeUnlessToldOtherwise) {
  EXPECT_EQ(Choose(kUsual, ""), "m-Q4_K_M.gguf");
  EXPECT_EQ(Choose({"m-Q8_0.gguf", "m-F16.gguf"}, ""), "m-Q8_0.gguf");
  EXPECT_EQ(Choose({"m-Q6_K.gguf", "m-F16.gguf"}, ""), "m-F16.gguf");
  EXPECT_EQ(Choose(kUsual, "q8_0"), "m-Q8_0.gguf");
  EXPECT_EQ(Choose(kUsual, "Q4_K_M"), "m-Q4_K_M.gguf");
  EXPECT_EQ(Choose(kUsual, "UD-Q4_K_M"), "m-UD-Q4_K_M.gguf");
  EXPECT_EQ(Choose(kUsual, "m-F16.gguf"), "m-F16.gguf");
  // Only in full, because it is no model.
  EXPECT_EQ(Choose(kUsual, "mmproj-F16.gguf"), "mmproj-F16.gguf");
  EXPECT_EQ(Choose(kUsual, "F16"), "m-F16.gguf");
}

TEST(ChooseModel, AWordIsAWhole) {
  EXPECT_EQ(Choose(kUsual, "Q4_K"),
            "not_found: there is no 'Q4_K'; there are: F16, Q4_K_M, Q4_K_S, Q8_0");
  EXPECT_EQ(Choose({"Q2_K/a.gguf", "Q4_K_M/a.gguf"}, "q2_k"), "Q2_K/a.gguf");
}

TEST(ChooseModel, PartsAreOneModel) {
  const std::vector<std::string> parts = {"d/m-Q8_0-00002-of-00003.gguf",
                                          "d/m-Q8_0-00003-of-00003.gguf",
                                          "d/m-Q8_0-00001-of-00003.gguf"};
  const std::string all =
      "d/m-Q8_0-00001-of-00003.gguf d/m-Q8_0-00002-of-00003.gguf d/m-Q8_0-00003-of-00003.gguf";
  EXPECT_EQ(Choose(parts, ""), all);
  EXPECT_EQ(Choose(parts, "Q8_0"), all);
  EXPECT_EQ(Choose(parts, "d/m-Q8_0-00001-of-00003.gguf"), all);
  EXPECT_EQ(Choose({parts[0], parts[2]}, ""),
            "unsupported: there is no GGUF file; look for a repository whose name ends in -GGUF");
  EXPECT_EQ(Choose({"m-00000-of-00002.gguf"}, ""), "m-00000-of-00002.gguf");
  EXPECT_EQ(Choose({"-00001-of-00001.gguf", ".gguf"}, ""), "-00001-of-00001.gguf");
}

TEST(QuantizationOf, IsTheLastWordOfThatForm) {
  EXPECT_EQ(QuantizationOf("a/Qwen3-0.6B-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(QuantizationOf("m.iq2_xs.gguf"), "IQ2_XS");
  EXPECT_EQ(QuantizationOf("m-BF16-00001-of-00002.gguf"), "BF16");
  EXPECT_EQ(QuantizationOf("gpt-oss-20b-mxfp4.gguf"), "MXFP4");
  EXPECT_EQ(QuantizationOf("model.gguf"), "");
  EXPECT_EQ(QuantizationOf("falcon.gguf"), "");
}

const std::string kHash = std::string(63, 'a') + "1";
const std::string kGit = std::string(39, 'b') + "2";

std::string Entry(const std::string& path, const std::string& more) {
  return R"({"type":"file","path":")" + path + R"(","oid":")" + kGit + R"(","size":5)" + more + "}";
}

TEST(AppendFileList, ReadsFilesAndHashes) {
  std::vector<ListedFile> files;
  const std::string json = "[" + Entry("a.gguf", R"(,"lfs":{"oid":")" + kHash + R"(","size":77})") +
                           "," + Entry("README.md", "") + R"(,{"type":"directory","path":"d"}])";
  ASSERT_TRUE(AppendFileList(json, &files).ok());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "a.gguf");
  EXPECT_EQ(files[0].sha256, kHash);
  EXPECT_EQ(files[0].blob, kHash);
  EXPECT_EQ(files[0].bytes, 77);
  EXPECT_EQ(files[1].sha256, "");
  EXPECT_EQ(files[1].blob, kGit);
}

// The list is a stranger's: it must not choose where something is written.
TEST(AppendFileList, LeavesOutPathsThatLeadElsewhere) {
  std::vector<ListedFile> files;
  for (const char* path :
       {"../x.gguf", "/x.gguf", "a/../../x", "a//b", "a/", "", "a\\nb", "a\\\\b"})
    ASSERT_TRUE(AppendFileList("[" + Entry(path, "") + "]", &files).ok()) << path;
  EXPECT_TRUE(files.empty());
}

TEST(AppendFileList, AnythingElseIsNoHub) {
  std::vector<ListedFile> files;
  for (const std::string& json :
       {std::string(), std::string("<html>"), std::string("{}"), std::string("[1]"),
        std::string("[") + Entry("a.gguf", R"(,"lfs":{"oid":"../../x","size":7})") + "]",
        std::string("[") + Entry("a.gguf", R"(,"lfs":{"oid":")" + kHash + R"("})") + "]",
        std::string(R"([{"type":"file","path":"a","oid":"..","size":1}])"),
        std::string(R"([{"type":"file","path":"a","size":1}])"),
        std::string(R"([{"type":"file","path":"a","oid":")") + kGit + R"(","size":-1}])",
        std::string(1000, '[')})
    EXPECT_EQ(AppendFileList(json, &files).code(), ErrorCode::kUnavailable) << json;
}

TEST(ReadCommit, IsFortyDigits) {
  EXPECT_EQ(*ReadCommit(R"({"sha":")" + kGit + R"("})"), kGit);
  for (const char* json : {"", "[]", "{}", R"({"sha":"main"})", R"({"sha":7})"})
    EXPECT_EQ(ReadCommit(json).status().code(), ErrorCode::kUnavailable) << json;
}

}  // namespace
}  // namespace skald::hub
