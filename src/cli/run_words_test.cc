#include "cli/run_words.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/model_lookup.h"

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

// A folder with two models, and a file that is none.
class RunWordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("skald_words_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    environment_.models = folder_.string();
    for (const char* name : {"mine.gguf", "llama3.2.gguf"}) std::ofstream(folder_ / name) << "GGUF";
    std::ofstream(folder_ / "prompt.txt") << "Once upon a time";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string At(const std::string& name) { return (folder_ / name).string(); }

  // "model|prompt", "-" for what is unset; or the message.
  std::string Place(RunWords words, std::optional<std::string> model = {}) {
    ModelArgs model_args{.model = std::move(model)};
    TextArgs text;
    const Status status = PlaceWords(words, environment_, &model_args, &text);
    if (!status.ok()) return status.message();
    return model_args.model.value_or("-") + "|" + text.argument.value_or("-");
  }

  fs::path folder_;
  Environment environment_;
};

TEST_F(RunWordsTest, OneWordIsThePromptUnlessItIsAModel) {
  EXPECT_EQ(Place({}), "-|-");
  EXPECT_EQ(Place({"Once upon a time"}), "-|Once upon a time");
  EXPECT_EQ(Place({"Once"}), "-|Once");
  EXPECT_EQ(Place({"mine"}), "mine|-");
  EXPECT_EQ(Place({"mine.gguf"}), "mine.gguf|-");
  EXPECT_EQ(Place({"llama3.2"}), "llama3.2|-");
  EXPECT_EQ(Place({At("mine.gguf")}), At("mine.gguf") + "|-");
  EXPECT_EQ(Place({"mine"}, "other"), "other|mine");
}

TEST_F(RunWordsTest, OfTwoTheFirstIsTheModel) {
  EXPECT_EQ(Place({"mine", "Once"}), "mine|Once");
  EXPECT_EQ(Place({"mine", "llama3.2"}), "mine|llama3.2");
  EXPECT_EQ(Place({"Once", "upon"}),
            "unexpected argument 'upon'; a text with spaces needs quotes, and 'Once' is no model");
  EXPECT_EQ(Place({"mine", "Once"}, "other"),
            "unexpected argument 'Once'; a text with spaces needs quotes");
}

TEST_F(RunWordsTest, WhatLooksLikeAModelAndIsNoneIsNotTakenForAPrompt) {
  EXPECT_EQ(Place({"qwen3:8b"}),
            "no file and no model named 'qwen3:8b'; there are: llama3.2, mine; type one of them, "
            "the path of a GGUF file, or hf://OWNER/NAME to pull one; if it is the prompt: -p "
            "'qwen3:8b'");
  EXPECT_EQ(Place({"/nonexistent/x.gguf", "Hi"}),
            "/nonexistent/x.gguf: no such file; if it is the prompt: -p '/nonexistent/x.gguf'");
  EXPECT_EQ(Place({At("prompt.txt")}),
            At("prompt.txt") + " is a file and no model (GGUF); to read the prompt from it: -f " +
                At("prompt.txt") + "; if it is the prompt itself: -p '" + At("prompt.txt") + "'");
}

TEST(LooksLikeModel, KnowsThePlainSpellings) {
  for (const char* model : {"model.gguf",
                            "./model.gguf",
                            "./my model.gguf",
                            "/models/x.gguf",
                            "../x",
                            "~/models/x",
                            "./model",
                            "llama3.2",
                            "llama3.2:1b",
                            "Qwen2.5-7B-Instruct",
                            "qwen3",
                            "qwen",
                            "mistral:7b",
                            "gemma3:latest",
                            "phi4",
                            "mistral-7b",
                            "deepseek-r1",
                            "gpt-oss",
                            "gpt-oss:20b",
                            "SmolLM2",
                            "bartowski/Llama-3.2-1B-Instruct-GGUF",
                            "hf.co/owner/name",
                            "hf://owner/name:Q4_K_M",
                            "https://example.org/x",
                            "owner/name-7b:Q4_K_M"})
    EXPECT_TRUE(LooksLikeModel(model)) << model;
}

TEST(LooksLikeModel, LeavesPromptsAlone) {
  for (const char* prompt : {"",
                             "-",
                             "Once",
                             "Once upon a time",
                             "Llama",
                             "mistral",
                             "falcon",
                             "phi",
                             "Hello!",
                             "12:30",
                             "1/2",
                             "and/or",
                             "Note:",
                             "Title:Foo",
                             "/help",
                             "/",
                             ".",
                             "./",
                             ".gguf",
                             "granite-grey",
                             "What is a model.gguf",
                             "run llama3.2 now",
                             "a\nb.gguf",
                             "caf\xC3\xA9",
                             "2024",
                             "yes/no",
                             "He said: no",
                             "C++20",
                             "https://"})
    EXPECT_FALSE(LooksLikeModel(prompt)) << prompt;
}

}  // namespace
}  // namespace skald::cli
