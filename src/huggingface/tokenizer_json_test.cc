#include "huggingface/tokenizer_json.h"

#include <gtest/gtest.h>

#include <string>

#include "huggingface/splitting.h"

namespace skald::huggingface {
namespace {

JsonTree Parsed(const std::string& text) {
  Result<JsonTree> tree = JsonTree::Parse(text);
  EXPECT_TRUE(tree.ok()) << text;
  return *std::move(tree);
}

Result<Splitting> SplittingOf(const std::string& text) {
  const JsonTree tree = Parsed(text);
  return ReadSplitting(tree.root());
}

std::string RuleOf(const std::string& text) {
  const Result<Splitting> splitting = SplittingOf(text);
  return splitting.ok() ? splitting->rule : splitting.status().message();
}

// As published in the tokenizer.json of these models.
constexpr char kLlama3[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
    R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
constexpr char kQwen2[] = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|)"
                          R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";

std::string Split(const std::string& pattern) {
  return R"({"type":"Split","pattern":{"Regex":")" + pattern +
         R"("},"behavior":"Isolated","invert":false})";
}

std::string Sequence(const std::string& steps) {
  return R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + steps +
         R"(,{"type":"ByteLevel","use_regex":false}]})";
}

TEST(Splitting, FindsTheRuleByItsPatterns) {
  const std::string gpt2 = R"("pre_tokenizer":{"type":"ByteLevel","use_regex":true})";
  EXPECT_EQ(RuleOf("{" + gpt2 + "}"), "a.x-4.0");  // the first rule that cuts so
  EXPECT_EQ(RuleOf(R"({"model":{"ignore_merges":true},)" + Sequence(Split(kLlama3)) + "}"),
            "falcon-h1");
  EXPECT_EQ(RuleOf(R"({"normalizer":{"type":"NFC"},)" + Sequence(Split(kQwen2)) + "}"), "qwen2");
  EXPECT_EQ(RuleOf("{" + Sequence(Split(kQwen2)) + "}"), "deepseek-r1-qwen");
  EXPECT_EQ(RuleOf(R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[)"
                   R"({"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]}})"),
            "codeshell");
}

TEST(Splitting, RefusesWhatNoRuleHas) {
  for (const std::string& step :
       {Split("[a-z]+"), Split(R"(\\p{N}+)") + "," + Split(R"(\\p{Nd}+)"),  // threes only, by name
        std::string(R"({"type":"Punctuation"})"),
        std::string(R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated"})"),
        std::string(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Removed"})")}) {
    const Result<Splitting> splitting = SplittingOf("{" + Sequence(step) + "}");
    ASSERT_FALSE(splitting.ok()) << step;
    EXPECT_EQ(splitting.status().code(), ErrorCode::kUnsupported);
  }
  EXPECT_FALSE(
      SplittingOf(R"({"normalizer":{"type":"NFKC"},)" + Sequence(Split(kQwen2)) + "}").ok());
  EXPECT_FALSE(SplittingOf("{}").ok());
}

TEST(Splitting, KnowsSentencePieceAndItsSpace) {
  const auto adds = [](const std::string& members) {
    const Result<Splitting> splitting =
        SplittingOf(R"({"model":{"byte_fallback":true})" + members + "}");
    EXPECT_TRUE(splitting.ok());
    EXPECT_FALSE(splitting->is_of_bytes);
    return splitting->adds_space;
  };
  EXPECT_FALSE(adds(""));
  EXPECT_TRUE(adds(R"(,"normalizer":{"type":"Prepend","prepend":"▁"})"));
  EXPECT_TRUE(adds(R"(,"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"first"})"));
  EXPECT_FALSE(adds(R"(,"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"never"})"));
  EXPECT_TRUE(adds(R"(,"pre_tokenizer":{"type":"Metaspace"})"));
}

constexpr char kSmall[] = R"({
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
  "added_tokens": [{"id": 3, "content": "<s>", "special": true},
                   {"id": 4, "content": "</s>", "special": true},
                   {"id": 5, "content": "<|end|>", "special": true},
                   {"id": 6, "content": "<x>", "special": false}],
  "pre_tokenizer": {"type": "ByteLevel", "use_regex": true},
  "post_processor": {"type": "TemplateProcessing",
                     "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}})";

formats::Metadata KeysOf(const TokenizerDocuments& documents, int64_t vocab_size) {
  formats::MetadataWriter writer;
  const Status status = WriteTokenizerKeys(documents, vocab_size, &writer);
  EXPECT_TRUE(status.ok()) << status.message();
  return *std::move(writer).Finish();
}

TEST(TokenizerJson, FillsIdsWithoutATokenAndSaysWhatEachIs) {
  const JsonTree tokenizer = Parsed(kSmall);
  const formats::Metadata keys = KeysOf({.tokenizer = tokenizer}, 8);
  const auto types = *keys.GetInts("tokenizer.ggml.token_type");
  EXPECT_EQ(types[0], 1);
  EXPECT_EQ(types[3], 3);
  EXPECT_EQ(types[6], 4);
  EXPECT_EQ(types[7], 5);
  std::string tokens;
  const formats::StringArray all = *keys.GetStrings("tokenizer.ggml.tokens");
  for (const std::string_view token : all) tokens += std::string(token) + " ";
  EXPECT_EQ(tokens, "a b ab <s> </s> <|end|> <x> [PAD7] ");
}

TEST(TokenizerJson, FindsBeginningsAndEnds) {
  const JsonTree tokenizer = Parsed(kSmall);
  const JsonTree config = Parsed(R"({"bos_token_id":3,"eos_token_id":4})");
  const JsonTree generation = Parsed(R"({"eos_token_id":[5,4,99]})");
  const JsonTree named = Parsed(R"({"bos_token":null,"eos_token":{"content":"</s>"}})");
  const formats::Metadata keys = KeysOf({.tokenizer = tokenizer,
                                         .tokenizer_config = &named,
                                         .generation_config = &generation,
                                         .config = &config},
                                        8);
  EXPECT_EQ(*keys.GetI64("tokenizer.ggml.bos_token_id"), 3);
  EXPECT_EQ(*keys.GetI64("tokenizer.ggml.eos_token_id"), 4);
  EXPECT_EQ(*keys.GetI64("tokenizer.ggml.eot_token_id"), 5);
  EXPECT_FALSE(keys.Contains("tokenizer.ggml.eom_token_id"));
  EXPECT_TRUE(*keys.GetBool("tokenizer.ggml.add_bos_token"));  // the template says so
  const JsonTree without = Parsed(R"({"bos_token":"<s>","add_bos_token":false})");
  const formats::Metadata other = KeysOf({.tokenizer = tokenizer, .tokenizer_config = &without}, 8);
  EXPECT_FALSE(*other.GetBool("tokenizer.ggml.add_bos_token"));
  EXPECT_FALSE(other.Contains("tokenizer.ggml.eos_token_id"));
}

TEST(TokenizerJson, TakesWhatStandsAroundATextFromThePostProcessor) {
  const auto keys_of = [](const std::string& processor) {
    std::string text = kSmall;
    text =
        text.substr(0, text.find("\"post_processor\"")) + "\"post_processor\":" + processor + "}";
    const JsonTree tokenizer = Parsed(text);
    const JsonTree named = Parsed(R"({"bos_token":"<s>","eos_token":"</s>"})");
    const formats::Metadata keys = KeysOf({.tokenizer = tokenizer, .tokenizer_config = &named}, 8);
    return std::pair(*keys.GetBool("tokenizer.ggml.add_bos_token"),
                     *keys.GetBool("tokenizer.ggml.add_eos_token"));
  };
  EXPECT_EQ(keys_of("null"), std::pair(false, false));
  EXPECT_EQ(keys_of(R"({"type":"RobertaProcessing","cls":["<s>",3],"sep":["</s>",4]})"),
            std::pair(true, true));
  EXPECT_EQ(keys_of(R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},)"
                    R"({"SpecialToken":{"id":"</s>"}}]})"),
            std::pair(false, true));
  EXPECT_EQ(keys_of(R"({"type":"Sequence","processors":[{"type":"ByteLevel"},)"
                    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},)"
                    R"({"Sequence":{"id":"A"}}]}]})"),
            std::pair(true, false));
}

TEST(TokenizerJson, RespellsWordPieces) {
  const JsonTree tokenizer = Parsed(
      R"({"normalizer":{"type":"BertNormalizer","lowercase":false},"pre_tokenizer":)"
      R"({"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":)"
      R"({"[CLS]":0,"[UNK]":1,"a":2,"##b":3,"##":4}},"added_tokens":)"
      R"([{"id":0,"content":"[CLS]","special":true}],)"
      R"("post_processor":{"type":"BertProcessing","cls":["[CLS]",0],"sep":["[SEP]",9]}})");
  const JsonTree named = Parsed(R"({"cls_token":"[CLS]","sep_token":"[SEP]"})");
  const formats::Metadata keys = KeysOf({.tokenizer = tokenizer, .tokenizer_config = &named}, 6);
  std::string tokens;
  const formats::StringArray all = *keys.GetStrings("tokenizer.ggml.tokens");
  for (const std::string_view token : all) tokens += std::string(token) + " ";
  EXPECT_EQ(tokens, "[CLS] [UNK] ▁a b  [PAD5] ");
  EXPECT_EQ(*keys.GetI64("tokenizer.ggml.cls_token_id"), 0);
  EXPECT_TRUE(*keys.GetBool("tokenizer.ggml.add_bos_token"));
  EXPECT_FALSE(*keys.GetBool("tokenizer.ggml.add_sep_token"));  // no token is called so
  EXPECT_FALSE(*keys.GetBool("tokenizer.ggml.normalizer.lowercase"));
  EXPECT_FALSE(keys.Contains("tokenizer.ggml.normalizer.strip_accents"));
}

TEST(TokenizerJson, KnowsTheWaysInWhichUnigramsDropSpaces) {
  const auto removes = [](const std::string& normalizers, const std::string& splitters) {
    const JsonTree tokenizer =
        Parsed(R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]]},)"
               R"("normalizer":{"type":"Sequence","normalizers":[)" +
               normalizers + R"(]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
               splitters + R"({"type":"Metaspace"}]}})");
    const formats::Metadata keys = KeysOf({.tokenizer = tokenizer}, 2);
    EXPECT_EQ((*keys.GetFloats("tokenizer.ggml.scores"))[1], -1.5);
    EXPECT_EQ((*keys.GetInts("tokenizer.ggml.token_type"))[0], 2);
    return *keys.GetBool("tokenizer.ggml.remove_extra_whitespaces");
  };
  const std::string charsmap = R"({"type":"Precompiled","precompiled_charsmap":"AAECAw=="})";
  const std::string drops = R"(,{"type":"Strip","strip_left":false,"strip_right":true},)"
                            R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"})";
  EXPECT_FALSE(removes("", ""));
  EXPECT_FALSE(removes(charsmap, ""));
  EXPECT_TRUE(removes(charsmap, R"({"type":"WhitespaceSplit"},)"));
  EXPECT_TRUE(removes(charsmap + drops, ""));
}

}  // namespace
}  // namespace skald::huggingface
