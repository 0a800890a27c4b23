// Masks over vocabularies of models: every bit is what the recogniser says of that token alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/gguf.h"
#include "grammar/constraint_state.h"
#include "grammar/token_table.h"
#include "load/tokenizer_from_gguf.h"
#include "support/shared_data.h"

namespace skald::load {
namespace {

Vocabulary VocabularyOf(const Tokenizer& tokenizer) {
  const Vocabulary vocabulary = Vocabulary::FromTokenizer(tokenizer);
  EXPECT_EQ(vocabulary.size(), tokenizer.vocab_size());
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const bool has_text = !tokenizer.IsControl(id) && !tokenizer.IsEndOfGeneration(id) &&
                          tokenizer.Type(id) != TokenType::kUnused;
    const std::string_view expected = has_text ? tokenizer.TokenBytes(id) : std::string_view();
    EXPECT_EQ(vocabulary.table().BytesOf(id), expected) << id;
  }
  return vocabulary;
}

// Compares the mask behind `text` with every token.
void CheckMask(const Grammar& grammar, const Vocabulary& vocabulary, std::string_view text) {
  SCOPED_TRACE(text);
  const Result<Constraint> constraint = Constraint::Create(grammar, vocabulary);
  ASSERT_TRUE(constraint.ok()) << constraint.status().message();
  grammar::ConstraintState state(*constraint);
  const grammar::TokenTable& tokens = vocabulary.table();
  for (const char byte : text) {
    for (TokenId id = 0; id < tokens.token_count(); ++id) {
      if (tokens.BytesOf(id) != std::string_view(&byte, 1)) continue;
      ASSERT_TRUE(state.Advance(id).ok());
      break;
    }
  }
  std::vector<uint64_t> words(static_cast<size_t>(tokens.token_count() + 63) / 64);
  ASSERT_TRUE(state.FillMask(words).ok());
  int wrong = 0;
  for (TokenId id = 0; id < tokens.token_count(); ++id) {
    const bool bit = (words[id >> 6] >> (id & 63)) & 1;
    if (bit != state.Allows(id) && ++wrong < 10)
      ADD_FAILURE() << id << " " << tokens.BytesOf(id) << " mask " << bit;
  }
  EXPECT_EQ(wrong, 0);
}

void CheckMasks(const Tokenizer& tokenizer) {
  const Vocabulary vocabulary = VocabularyOf(tokenizer);
  const Result<Grammar> any = Grammar::FromJsonSchema("true");
  const Result<Grammar> object = Grammar::FromJsonSchema(
      "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":20},"
      "\"when\":{\"format\":\"date\",\"type\":\"string\"},\"n\":{\"type\":\"array\",\"items\":{"
      "\"type\":\"number\"}}},\"required\":[\"name\"],\"additionalProperties\":{\"enum\":[\"on\","
      "\"off\"]}}");
  ASSERT_TRUE(any.ok() && object.ok());
  for (const char* text :
       {"", "{", "[\"", "\"a", "{\"", "{\"ab\\", "[\"\\ud83d", "-1", "[[],", "{\"a\": {\"b\":1}"})
    CheckMask(*any, vocabulary, text);
  for (const char* text :
       {"{", "{\"n", "{\"name\":", "{\"name\":\"abc", "{\"name\": \"12345678901234",
        "{\"name\": \"a\"", "{\"name\": \"a\",\"when\":\"20", "{\"name\":\"\",\"n\":[1",
        "{\"name\":\"\",\"x\":\"o", "{\"name\":\"\",\"x\":\"on\",\"x"})
    CheckMask(*object, vocabulary, text);
}

void CheckMasks(const std::string& path) {
  SCOPED_TRACE(path);
  const Result<File> file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<formats::GgufFile> gguf = formats::ParseGguf(*file);
  ASSERT_TRUE(gguf.ok()) << gguf.status().message();
  const Result<text::TokenizerSpec> spec = TokenizerSpecFromMetadata(gguf->metadata);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const Result<Tokenizer> tokenizer = Tokenizer::Create(*spec);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  CheckMasks(*tokenizer);
}

TEST(TokenMasks, AreWhatEachTokenAloneSays) {
  const std::string folder = SKALD_SOURCE_DIR "/tests/data/tokenizers/";
  CheckMasks(folder + "byte-level.gguf");
  CheckMasks(folder + "sentencepiece.gguf");
}

TEST(TokenMasksSharedData, AreWhatEachTokenAloneSays) {
  CheckMasks(support::SharedData("tokenizers/ggml-vocab-llama-bpe.gguf"));
  CheckMasks(support::SharedData("tokenizers/ggml-vocab-qwen2.gguf"));
  CheckMasks(support::SharedData("tokenizers/ggml-vocab-llama-spm.gguf"));
}

}  // namespace
}  // namespace skald::load
