#include "huggingface/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/embedding_tokenizers.h"
#include "huggingface/special_tokens.h"
#include "huggingface/splitting.h"
#include "huggingface/tokenizer_steps.h"
#include "huggingface/tokenizer_vocabulary.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMostTokens = int64_t{4} << 20;  // as many as a GGUF file may have
// Of a token that no merge makes: below all that one does.
constexpr float kScoreOfNone = -1e9F;

Status ReadTokens(JsonValue root, const Splitting& splitting, TokenizerVocabulary* vocabulary) {
  const auto model = root.Find("model");
  const auto vocab = model ? model->Find("vocab") : std::nullopt;
  if (!vocab || !vocab->IsObject()) return TokenizerError("'model.vocab' is missing");
  for (const JsonValue token : *vocab) {
    const bool is_byte = !splitting.is_of_bytes && IsByteToken(token.name());
    RETURN_IF_ERROR(vocabulary->Put(token.name(), token.AsInt(), is_byte ? kByte : kNormal));
  }
  return vocabulary->PutAdded(root);
}

// The two sides of a merge: "left right", or of newer files ["left", "right"].
struct Merge {
  std::string_view left;
  std::string_view right;
};

Result<std::vector<Merge>> ReadMerges(JsonValue root) {
  std::vector<Merge> merges;
  const auto model = root.Find("model");
  const auto list = model ? model->Find("merges") : std::nullopt;
  if (!list || !list->IsArray()) return TokenizerError("'model.merges' is missing");
  for (const JsonValue entry : *list) {
    if (const auto text = entry.AsString()) {
      const size_t space = text->find(' ');
      if (space == std::string_view::npos) return TokenizerError("a merge has no space");
      merges.push_back({text->substr(0, space), text->substr(space + 1)});
      continue;
    }
    auto side = entry.begin();
    if (entry.size() != 2 || !(*side).IsString())
      return TokenizerError("a merge is no pair of strings");
    const std::string_view left = *(*side).AsString();
    ++side;
    if (!(*side).IsString()) return TokenizerError("a merge is no pair of strings");
    merges.push_back({left, *(*side).AsString()});
  }
  return merges;
}

void WriteMerges(const std::vector<Merge>& merges, formats::MetadataWriter* metadata) {
  std::vector<std::string> texts;
  texts.reserve(merges.size());
  for (const Merge& merge : merges)
    texts.push_back(std::string(merge.left) + " " + std::string(merge.right));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  metadata->SetStrings("tokenizer.ggml.merges", views);
}

// SentencePiece joins the neighbours whose whole has the best score; the merges say the same by
// their order. Found by sorting: the author of a file can make the texts of a hash table collide.
void WriteScores(const std::vector<Merge>& merges, const TokenizerVocabulary& vocabulary,
                 formats::MetadataWriter* metadata) {
  using Ranked = std::pair<std::string, size_t>;
  std::vector<Ranked> ranks;
  ranks.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i)
    ranks.emplace_back(std::string(merges[i].left) + std::string(merges[i].right), i);
  std::sort(ranks.begin(), ranks.end());
  std::vector<float> scores;
  for (const std::string_view token : vocabulary.tokens()) {
    const auto found = std::lower_bound(
        ranks.begin(), ranks.end(), token,
        [](const Ranked& ranked, std::string_view text) { return ranked.first < text; });
    const bool is_made = found != ranks.end() && found->first == token;
    scores.push_back(is_made ? -static_cast<float>(found->second) : kScoreOfNone);
  }
  metadata->SetFloats("tokenizer.ggml.scores", scores);
}

Status WriteBytePairs(const TokenizerDocuments& documents, TokenizerVocabulary* vocabulary,
                      formats::MetadataWriter* metadata) {
  const JsonValue root = documents.tokenizer.root();
  ASSIGN_OR_RETURN(const Splitting splitting, ReadSplitting(root));
  RETURN_IF_ERROR(ReadTokens(root, splitting, vocabulary));
  ASSIGN_OR_RETURN(const std::vector<Merge> merges, ReadMerges(root));
  const std::string_view model = splitting.is_of_bytes ? "gpt2" : documents.characters_model;
  metadata->SetString("tokenizer.ggml.model", model);
  vocabulary->Write(metadata);
  if (splitting.is_of_bytes) metadata->SetString("tokenizer.ggml.pre", splitting.rule);
  if (!splitting.is_of_bytes)
    metadata->SetBool("tokenizer.ggml.add_space_prefix", splitting.adds_space);
  if (model == "llama") {
    WriteScores(merges, *vocabulary, metadata);
  } else {
    WriteMerges(merges, metadata);
  }
  return Ok();
}

}  // namespace

Status WriteTokenizerKeys(const TokenizerDocuments& documents, int64_t vocab_size,
                          formats::MetadataWriter* metadata) {
  if (vocab_size < 1 || vocab_size > kMostTokens)
    return TokenizerError(
        fmt::format("a vocabulary of {} tokens, expected 1 to {}", vocab_size, kMostTokens));
  const JsonValue root = documents.tokenizer.root();
  const auto model = root.Find("model");
  // Old files of byte-pair encodings do not say what they are.
  const std::string_view kind = model && model->Find("type") ? JsonText(*model, "type") : "BPE";
  TokenizerVocabulary vocabulary(vocab_size);
  if (kind == "WordPiece") {
    RETURN_IF_ERROR(WriteWordPiece(root, &vocabulary, metadata));
    WriteFrameTokens(documents, vocabulary, metadata);
    return Ok();
  }
  if (kind == "Unigram") {
    RETURN_IF_ERROR(WriteUnigram(root, &vocabulary, metadata));
  } else if (kind == "BPE") {
    RETURN_IF_ERROR(WriteBytePairs(documents, &vocabulary, metadata));
  } else {
    return TokenizerError(fmt::format("model type {} is not read; BPE, WordPiece and Unigram are",
                                      formats::Quote(kind)),
                          ErrorCode::kUnsupported);
  }
  WriteSpecialTokens(documents, vocabulary, metadata);
  return Ok();
}

}  // namespace skald::huggingface
