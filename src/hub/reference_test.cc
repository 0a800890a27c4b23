#include <gtest/gtest.h>

#include "skald/hub.h"

namespace skald {
namespace {

std::string Read(std::string_view text) {
  const Result<ModelReference> reference = ParseModelReference(text);
  if (!reference.ok()) return "(" + std::string(ErrorCodeName(reference.status().code())) + ")";
  return ToText(*reference);
}

TEST(ModelReference, ReadsWhatPeopleType) {
  EXPECT_EQ(Read("hf://Qwen/Qwen3-0.6B-GGUF"), "hf://Qwen/Qwen3-0.6B-GGUF");
  EXPECT_EQ(Read("hf://Qwen/Qwen3-0.6B-GGUF:q4_k_m"), "hf://Qwen/Qwen3-0.6B-GGUF:q4_k_m");
  EXPECT_EQ(Read("hf://o/n@v1.0:sub/a.gguf"), "hf://o/n@v1.0:sub/a.gguf");
  EXPECT_EQ(Read("o/n:Q8_0"), "hf://o/n:Q8_0");
  EXPECT_EQ(Read("hf.co/o/n:Q8_0"), "hf://o/n:Q8_0");
  EXPECT_EQ(Read("https://huggingface.co/o/n"), "hf://o/n");
  EXPECT_EQ(Read("https://huggingface.co/o/n/resolve/main/a.gguf?download=true"),
            "hf://o/n:a.gguf");
  EXPECT_EQ(Read("https://huggingface.co/o/n/blob/dev/d/a.gguf"), "hf://o/n@dev:d/a.gguf");
  EXPECT_EQ(Read("https://huggingface.co/o/n/tree/main"), "hf://o/n");
  EXPECT_EQ(Read("http://127.0.0.1:8000/a/b.gguf?x=1"), "http://127.0.0.1:8000/a/b.gguf?x=1");
}

// Owner, name, revision and file become paths on this machine.
TEST(ModelReference, RefusesWhatLeadsElsewhere) {
  for (const char* text : {"",
                           "hf://",
                           "hf://o",
                           "hf://o/",
                           "hf:///n",
                           "hf://o/n:",
                           "hf://o/n@",
                           "hf://../n",
                           "hf://o/..",
                           "hf://o/n:../../x.gguf",
                           "hf://o/n:/x.gguf",
                           "hf://o/n@../x",
                           "hf://o/n/x",
                           "hf://o/.n",
                           "hf://-o/n",
                           "hf://o/n m",
                           "hf://o/n:a//b",
                           "name",
                           "https://host/x.bin",
                           "https://host",
                           "https://host/.gguf/",
                           "ftp://host/x.gguf",
                           "https://host/a b.gguf",
                           "https://host/\xC3\xA9.gguf",
                           "http://host/..gguf"})
    EXPECT_EQ(Read(text), "(invalid_argument)") << text;
  EXPECT_EQ(Read("hf://o/" + std::string(97, 'n')), "(invalid_argument)");
  EXPECT_EQ(Read("hf://o/" + std::string(96, 'n')), "hf://o/" + std::string(96, 'n'));
  EXPECT_EQ(Read("https://h/" + std::string(5000, 'n') + ".gguf"), "(invalid_argument)");
}

TEST(ModelReference, AnErrorShowsTheForms) {
  const Result<ModelReference> reference = ParseModelReference("qwen");
  EXPECT_EQ(reference.status().message(),
            "'qwen' names no model; expected hf://owner/name, hf://owner/name:Q4_K_M, "
            "hf://owner/name@revision, or https://host/path/file.gguf");
}

}  // namespace
}  // namespace skald
