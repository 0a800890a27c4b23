#include "load/tokenizer_from_gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::load {
namespace {

using formats::GgufBuilder;
using Strings = std::vector<std::string>;

Result<formats::GgufFile> Parse(GgufBuilder builder) {
  return formats::ParseGguf(MemorySource(builder.Build()));
}

GgufBuilder SentencePieceFile() {
  return GgufBuilder()
      .Key("tokenizer.ggml.model", "llama")
      .Key("tokenizer.ggml.tokens", Strings{"<unk>", "<s>", "</s>", "a", "\xE2\x96\x81"})
      .Key("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1.5f, -2})
      .Key("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 1, 1});
}

TEST(TokenizerFromGgufTest, ReadsEveryKey) {
  const auto file =
      Parse(SentencePieceFile()
                .Key("tokenizer.ggml.pre", "default")
                .Key("tokenizer.ggml.bos_token_id", uint32_t{1})
                .Key("tokenizer.ggml.eos_token_id", uint32_t{2})
                .Key("tokenizer.ggml.eot_token_id", uint32_t{3})
                .Key("tokenizer.ggml.eom_token_id", uint32_t{4})
                .Key("tokenizer.ggml.unknown_token_id", uint32_t{0})
                .Key("tokenizer.ggml.padding_token_id", uint32_t{0xFFFFFFFF})
                .Key("tokenizer.ggml.add_bos_token", true)
                .Key("tokenizer.ggml.add_eos_token", false)
                .Key("tokenizer.ggml.add_space_prefix", false)
                .Key("tokenizer.ggml.cls_token_id", uint32_t{3})
                .Key("tokenizer.ggml.prefix_token_id", uint32_t{1})
                .Key("tokenizer.ggml.fim_pre_token_id", uint32_t{2})
                .Key("tokenizer.ggml.fim_suf_token_id", uint32_t{3})
                .Key("tokenizer.ggml.middle_token_id", uint32_t{4})
                .Key("tokenizer.ggml.fim_rep_token_id", uint32_t{5})
                .Key("tokenizer.ggml.fim_sep_token_id", uint32_t{6})
                .Key("tokenizer.ggml.seperator_token_id", uint32_t{4})
                .Key("tokenizer.ggml.add_sep_token", true)
                .Key("tokenizer.ggml.remove_extra_whitespaces", true)
                .Key("tokenizer.ggml.precompiled_charsmap", std::vector<int8_t>{0, -1, 127})
                .Key("tokenizer.ggml.normalizer.lowercase", false)
                .Key("tokenizer.ggml.normalizer.strip_accents", true));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto spec = TokenizerSpecFromMetadata(file->metadata);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->model, "llama");
  EXPECT_EQ(spec->pre, "default");
  EXPECT_EQ(Strings(spec->tokens.begin(), spec->tokens.end()),
            (Strings{"<unk>", "<s>", "</s>", "a", "\xE2\x96\x81"}));
  EXPECT_EQ(spec->scores, (std::vector<float>{0, 0, 0, -1.5f, -2}));
  EXPECT_EQ(spec->types, (std::vector<int64_t>{2, 3, 3, 1, 1}));
  EXPECT_TRUE(spec->merges.empty());
  EXPECT_EQ(spec->ids.bos, 1);
  EXPECT_EQ(spec->ids.eos, 2);
  EXPECT_EQ(spec->ids.eot, 3);
  EXPECT_EQ(spec->ids.eom, 4);
  EXPECT_EQ(spec->ids.unk, 0);
  EXPECT_EQ(spec->ids.fim_prefix, 2);  // not the older name's
  EXPECT_EQ(spec->ids.fim_suffix, 3);
  EXPECT_EQ(spec->ids.fim_middle, 4);
  EXPECT_EQ(spec->ids.fim_repository, 5);
  EXPECT_EQ(spec->ids.fim_file, 6);
  EXPECT_EQ(spec->ids.pad, 0xFFFFFFFF);  // refused later, by Tokenizer::Create
  EXPECT_EQ(spec->add_bos, true);
  EXPECT_EQ(spec->add_eos, false);
  EXPECT_EQ(spec->add_space_prefix, false);
  EXPECT_EQ(spec->ids.cls, 3);
  EXPECT_EQ(spec->ids.sep, 4);
  EXPECT_EQ(spec->add_sep, true);
  EXPECT_EQ(spec->remove_extra_whitespaces, true);
  EXPECT_EQ(spec->precompiled_charsmap, std::string("\0\xFF\x7F", 3));
  EXPECT_EQ(spec->lower_case, false);
  EXPECT_EQ(spec->strip_accents, true);
}

TEST(TokenizerFromGgufTest, AbsentKeysStayAbsent) {
  const auto file = Parse(SentencePieceFile());
  ASSERT_TRUE(file.ok());
  const auto spec = TokenizerSpecFromMetadata(file->metadata);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->pre, "");
  EXPECT_FALSE(spec->ids.bos.has_value());
  EXPECT_FALSE(spec->add_bos.has_value());
  EXPECT_FALSE(spec->add_space_prefix.has_value());
}

TEST(TokenizerFromGgufTest, ByteLevelFilesNeedMerges) {
  const auto builder = [] {
    return GgufBuilder()
        .Key("tokenizer.ggml.model", "gpt2")
        .Key("tokenizer.ggml.pre", "gpt-2")
        .Key("tokenizer.ggml.tokens", Strings{"a", "b", "ab"});
  };
  const auto without = Parse(builder());
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(TokenizerSpecFromMetadata(without->metadata).status().code(), ErrorCode::kBadModel);
  const auto with = Parse(builder().Key("tokenizer.ggml.merges", Strings{"a b"}));
  ASSERT_TRUE(with.ok());
  const auto tokenizer = TokenizerFromMetadata(with->metadata);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(*tokenizer->Encode("abba"), (std::vector<TokenId>{2, 1, 0}));
}

TEST(TokenizerFromGgufTest, DamagedKeysOfEmbeddingTokenizersAreNamed) {
  const auto refused = [](GgufBuilder builder) {
    const auto file = Parse(std::move(builder));
    EXPECT_TRUE(file.ok()) << file.status().message();
    return TokenizerFromMetadata(file->metadata).status().message();
  };
  const auto unigram = [] {
    return GgufBuilder()
        .Key("tokenizer.ggml.model", "t5")
        .Key("tokenizer.ggml.tokens", Strings{"<pad>", "</s>", "<unk>", "a"});
  };
  EXPECT_EQ(refused(unigram()),
            "tokenizer: token scores are missing: a Unigram vocabulary needs one for each token");
  EXPECT_EQ(
      refused(unigram()
                  .Key("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1})
                  .Key("tokenizer.ggml.precompiled_charsmap", std::vector<int8_t>{1, 2})),
      "tokenizer: precompiled_charsmap: expected 4 bytes with the size of its table, found 2");
  EXPECT_EQ(refused(unigram()
                        .Key("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1})
                        .Key("tokenizer.ggml.precompiled_charsmap", std::vector<int32_t>{256})),
            "tokenizer.ggml.precompiled_charsmap: expected bytes, found 256 at 0");
  EXPECT_NE(refused(GgufBuilder()
                        .Key("tokenizer.ggml.model", "bert")
                        .Key("tokenizer.ggml.tokens", Strings{"[PAD]", "a"}))
                .find("a WordPiece vocabulary needs an unknown token ([UNK])"),
            std::string::npos);
  EXPECT_NE(refused(GgufBuilder()
                        .Key("tokenizer.ggml.model", "gemma4")
                        .Key("tokenizer.ggml.tokens", Strings{"a"}))
                .find("tokenizer.ggml.merges"),
            std::string::npos);
}

TEST(TokenizerFromGgufTest, MissingAndMistypedKeysAreNamed) {
  const auto refused = [](GgufBuilder builder) {
    const auto file = Parse(std::move(builder));
    EXPECT_TRUE(file.ok()) << file.status().message();
    const auto tokenizer = TokenizerFromMetadata(file->metadata);
    EXPECT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.status().code(), ErrorCode::kBadModel);
    return tokenizer.status().message();
  };
  EXPECT_NE(refused(GgufBuilder()).find("tokenizer.ggml.model"), std::string::npos);
  EXPECT_NE(refused(GgufBuilder().Key("tokenizer.ggml.model", "llama")).find(".tokens"),
            std::string::npos);
  EXPECT_NE(refused(GgufBuilder()
                        .Key("tokenizer.ggml.model", "llama")
                        .Key("tokenizer.ggml.tokens", Strings{"a"})
                        .Key("tokenizer.ggml.scores", std::vector<int8_t>{1}))
                .find("tokenizer.ggml.scores"),
            std::string::npos);
  EXPECT_NE(refused(SentencePieceFile().Key("tokenizer.ggml.bos_token_id", "1"))
                .find("tokenizer.ggml.bos_token_id"),
            std::string::npos);
  EXPECT_EQ(refused(SentencePieceFile().Key("tokenizer.ggml.bos_token_id", uint32_t{5})),
            "tokenizer: bos_token_id: expected a token id below 5, found 5");
}

}  // namespace
}  // namespace skald::load
