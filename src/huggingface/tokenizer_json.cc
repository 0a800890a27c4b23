#include "huggingface/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/splitting.h"

namespace skald::huggingface {
namespace {

// Kinds of tokens, by the numbers of tokenizer.ggml.token_type.
enum TokenType : int64_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

constexpr int64_t kMostTokens = int64_t{4} << 20;  // as many as a GGUF file may have
// Of a token that no merge makes: below all that one does.
constexpr float kScoreOfNone = -1e9F;

Status Bad(std::string problem, ErrorCode code = ErrorCode::kBadModel) {
  return Status(code, "tokenizer.json: " + std::move(problem));
}

struct Vocabulary {
  std::vector<std::string_view> tokens;  // by id
  std::vector<int64_t> types;
};

Status Put(std::string_view token, std::optional<int64_t> id, int64_t type,
           Vocabulary* vocabulary) {
  const auto size = static_cast<int64_t>(vocabulary->tokens.size());
  if (!id || *id < 0 || *id >= size) {
    return Bad(fmt::format("token {} has no id from 0 to {}, as the embedding has",
                           formats::Quote(token), size - 1));
  }
  const auto place = static_cast<size_t>(*id);
  const bool is_taken = vocabulary->types[place] != kUnused && vocabulary->tokens[place] != token;
  if (is_taken) {
    return Bad(fmt::format("id {} is {} and {}", *id, formats::Quote(vocabulary->tokens[place]),
                           formats::Quote(token)));
  }
  vocabulary->tokens[place] = token;
  vocabulary->types[place] = type;
  return Ok();
}

bool IsByteToken(std::string_view token) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return token.size() == 6 && token.starts_with("<0x") && token[5] == '>' && is_digit(token[3]) &&
         is_digit(token[4]);
}

// `pads`: memory of names of unused tokens.
Status ReadVocabulary(JsonValue root, bool has_byte_tokens, std::vector<std::string>* pads,
                      Vocabulary* vocabulary) {
  for (size_t id = 0; id < pads->size(); ++id) {
    (*pads)[id] = fmt::format("[PAD{}]", id);
    vocabulary->tokens.emplace_back((*pads)[id]);
    vocabulary->types.push_back(kUnused);
  }
  const auto model = root.Find("model");
  const auto vocab = model ? model->Find("vocab") : std::nullopt;
  if (!vocab || !vocab->IsObject()) return Bad("'model.vocab' is missing");
  for (const JsonValue token : *vocab) {
    const bool is_byte = has_byte_tokens && IsByteToken(token.name());
    RETURN_IF_ERROR(Put(token.name(), token.AsInt(), is_byte ? kByte : kNormal, vocabulary));
  }
  const auto added = root.Find("added_tokens");
  if (!added) return Ok();
  for (const JsonValue token : *added) {
    const auto content = token.Find("content");
    const auto text = content ? content->AsString() : std::nullopt;
    const auto id = token.Find("id");
    const auto special = token.Find("special");
    if (!text || !id) return Bad("an added token has no content or no id");
    const bool is_special = special && special->AsBool().value_or(false);
    RETURN_IF_ERROR(Put(*text, id->AsInt(), is_special ? kControl : kUserDefined, vocabulary));
  }
  return Ok();
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
  if (!list || !list->IsArray()) return Bad("'model.merges' is missing");
  for (const JsonValue entry : *list) {
    if (const auto text = entry.AsString()) {
      const size_t space = text->find(' ');
      if (space == std::string_view::npos) return Bad("a merge has no space");
      merges.push_back({text->substr(0, space), text->substr(space + 1)});
      continue;
    }
    auto side = entry.begin();
    if (entry.size() != 2 || !(*side).IsString()) return Bad("a merge is no pair of strings");
    const std::string_view left = *(*side).AsString();
    ++side;
    if (!(*side).IsString()) return Bad("a merge is no pair of strings");
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
void WriteScores(const std::vector<Merge>& merges, const Vocabulary& vocabulary,
                 formats::MetadataWriter* metadata) {
  using Ranked = std::pair<std::string, size_t>;
  std::vector<Ranked> ranks;
  ranks.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i)
    ranks.emplace_back(std::string(merges[i].left) + std::string(merges[i].right), i);
  std::sort(ranks.begin(), ranks.end());
  std::vector<float> scores;
  for (const std::string_view token : vocabulary.tokens) {
    const auto found = std::lower_bound(
        ranks.begin(), ranks.end(), token,
        [](const Ranked& ranked, std::string_view text) { return ranked.first < text; });
    const bool is_made = found != ranks.end() && found->first == token;
    scores.push_back(is_made ? -static_cast<float>(found->second) : kScoreOfNone);
  }
  metadata->SetFloats("tokenizer.ggml.scores", scores);
}

// ---- tokens with a meaning ----

class Specials {
 public:
  Specials(const TokenizerDocuments& documents, const Vocabulary& vocabulary)
      : documents_(documents), vocabulary_(vocabulary) {}

  // The id of the token that tokenizer_config.json calls `name` ("eos_token").
  std::optional<int64_t> Named(std::string_view name) const {
    const auto value = Member(documents_.tokenizer_config, name);
    if (!value) return std::nullopt;
    const auto content = value->IsObject() ? value->Find("content") : value;
    const auto text = content ? content->AsString() : std::nullopt;
    return text ? IdOf(*text) : std::nullopt;
  }

  // What generation_config.json, else config.json, gives as `name`: a number, or several.
  std::vector<int64_t> Numbers(std::string_view name) const {
    std::optional<JsonValue> value = Member(documents_.generation_config, name);
    if (!value) value = Member(documents_.config, name);
    std::vector<int64_t> ids;
    if (!value) return ids;
    if (const auto id = value->AsInt()) ids.push_back(*id);
    for (const JsonValue each : *value)
      if (const auto id = each.AsInt()) ids.push_back(*id);
    const auto size = static_cast<int64_t>(vocabulary_.tokens.size());
    std::erase_if(ids, [&](int64_t id) { return id < 0 || id >= size; });
    return ids;
  }

  std::optional<int64_t> IdOf(std::string_view text) const {
    const auto found = std::find(vocabulary_.tokens.begin(), vocabulary_.tokens.end(), text);
    if (found == vocabulary_.tokens.end()) return std::nullopt;
    return found - vocabulary_.tokens.begin();
  }

  static std::optional<JsonValue> Member(const JsonTree* document, std::string_view name) {
    if (document == nullptr) return std::nullopt;
    const std::optional<JsonValue> value = document->root().Find(name);
    if (!value || value->kind() == JsonKind::kNull) return std::nullopt;
    return value;
  }

 private:
  const TokenizerDocuments& documents_;
  const Vocabulary& vocabulary_;
};

// Whether a text begins with the token `bos`, by the post-processor: the template of a single text.
bool TemplateBegins(JsonValue processor, std::string_view bos) {
  if (const auto inner = processor.Find("processors")) {
    for (const JsonValue each : *inner)
      if (TemplateBegins(each, bos)) return true;
    return false;
  }
  const auto single = processor.Find("single");
  if (!single || single->size() == 0) return false;
  const auto special = (*single->begin()).Find("SpecialToken");
  const auto id = special ? special->Find("id") : std::nullopt;
  return id && id->AsString() == bos;
}

bool AddsBos(const TokenizerDocuments& documents, const Vocabulary& vocabulary,
             std::optional<int64_t> bos) {
  const auto flag = Specials::Member(documents.tokenizer_config, "add_bos_token");
  if (flag && flag->AsBool()) return *flag->AsBool();
  const auto processor = documents.tokenizer.root().Find("post_processor");
  return bos && processor &&
         TemplateBegins(*processor, vocabulary.tokens[static_cast<size_t>(*bos)]);
}

void WriteSpecials(const TokenizerDocuments& documents, const Vocabulary& vocabulary,
                   formats::MetadataWriter* metadata) {
  const Specials specials(documents, vocabulary);
  const auto set = [&](std::string_view key, std::optional<int64_t> id) {
    if (id) metadata->SetInt("tokenizer.ggml." + std::string(key), *id);
  };
  const std::vector<int64_t> begins = specials.Numbers("bos_token_id");
  std::optional<int64_t> bos = specials.Named("bos_token");
  if (!bos && !begins.empty()) bos = begins.front();
  set("bos_token_id", bos);
  std::vector<int64_t> ends = specials.Numbers("eos_token_id");
  std::optional<int64_t> eos = specials.Named("eos_token");
  if (!eos && !ends.empty()) eos = ends.front();
  set("eos_token_id", eos);
  // Chat models end in several ways; the other ends have keys of their own.
  std::erase_if(ends, [&](int64_t id) { return id == eos; });
  if (!ends.empty()) set("eot_token_id", ends[0]);
  if (ends.size() > 1) set("eom_token_id", ends[1]);
  set("padding_token_id", specials.Named("pad_token"));
  set("unknown_token_id", specials.Named("unk_token"));
  metadata->SetBool("tokenizer.ggml.add_bos_token", AddsBos(documents, vocabulary, bos));
  const auto add_eos = Specials::Member(documents.tokenizer_config, "add_eos_token");
  metadata->SetBool("tokenizer.ggml.add_eos_token", add_eos && add_eos->AsBool().value_or(false));
}

}  // namespace

Status WriteTokenizerKeys(const TokenizerDocuments& documents, int64_t vocab_size,
                          formats::MetadataWriter* metadata) {
  if (vocab_size < 1 || vocab_size > kMostTokens)
    return Bad(fmt::format("a vocabulary of {} tokens, expected 1 to {}", vocab_size, kMostTokens));
  const JsonValue root = documents.tokenizer.root();
  const auto model = root.Find("model");
  const auto type = model ? model->Find("type") : std::nullopt;
  const auto kind = type ? type->AsString() : std::nullopt;
  // Old files of byte-pair encodings do not say what they are.
  if (kind && *kind != "BPE")
    return Bad(fmt::format("model type {} is not read, BPE is", formats::Quote(*kind)),
               ErrorCode::kUnsupported);
  ASSIGN_OR_RETURN(const Splitting splitting, ReadSplitting(root));
  std::vector<std::string> pads(static_cast<size_t>(vocab_size));
  Vocabulary vocabulary;
  RETURN_IF_ERROR(ReadVocabulary(root, !splitting.is_of_bytes, &pads, &vocabulary));
  ASSIGN_OR_RETURN(const std::vector<Merge> merges, ReadMerges(root));
  const std::string_view kind_name = splitting.is_of_bytes ? "gpt2" : documents.characters_model;
  metadata->SetString("tokenizer.ggml.model", kind_name);
  metadata->SetStrings("tokenizer.ggml.tokens", vocabulary.tokens);
  metadata->SetInts("tokenizer.ggml.token_type", vocabulary.types);
  if (splitting.is_of_bytes) metadata->SetString("tokenizer.ggml.pre", splitting.rule);
  if (!splitting.is_of_bytes)
    metadata->SetBool("tokenizer.ggml.add_space_prefix", splitting.adds_space);
  if (kind_name == "llama") {
    WriteScores(merges, vocabulary, metadata);
  } else {
    WriteMerges(merges, metadata);
  }
  WriteSpecials(documents, vocabulary, metadata);
  return Ok();
}

}  // namespace skald::huggingface
