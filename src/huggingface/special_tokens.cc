#include "huggingface/special_tokens.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald::huggingface {
namespace {

class Specials {
 public:
  Specials(const TokenizerDocuments& documents, const TokenizerVocabulary& vocabulary)
      : documents_(documents), vocabulary_(vocabulary) {}

  // The id of the token that tokenizer_config.json calls `name` ("eos_token").
  std::optional<int64_t> Named(std::string_view name) const {
    const auto value = Member(documents_.tokenizer_config, name);
    if (!value) return std::nullopt;
    const auto content = value->IsObject() ? value->Find("content") : value;
    const auto text = content ? content->AsString() : std::nullopt;
    return text ? vocabulary_.IdOf(*text) : std::nullopt;
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
    const auto size = static_cast<int64_t>(vocabulary_.size());
    std::erase_if(ids, [&](int64_t id) { return id < 0 || id >= size; });
    return ids;
  }

  // What tokenizer_config.json says, else whether `token` is what stands there.
  bool Adds(std::string_view flag_name, std::optional<int64_t> token,
            std::string_view there) const {
    const auto flag = Member(documents_.tokenizer_config, flag_name);
    if (flag && flag->AsBool()) return *flag->AsBool();
    return token && vocabulary_.tokens()[static_cast<size_t>(*token)] == there;
  }

 private:
  static std::optional<JsonValue> Member(const JsonTree* document, std::string_view name) {
    if (document == nullptr) return std::nullopt;
    const std::optional<JsonValue> value = document->root().Find(name);
    if (!value || value->kind() == JsonKind::kNull) return std::nullopt;
    return value;
  }

  const TokenizerDocuments& documents_;
  const TokenizerVocabulary& vocabulary_;
};

// The tokens around a single text; empty where there is none.
struct Frame {
  std::string_view begin = {};
  std::string_view end = {};
};

// Of an element of a template.
std::string_view SpecialOf(JsonValue element) {
  const auto special = element.Find("SpecialToken");
  const auto id = special ? special->Find("id") : std::nullopt;
  return id ? id->AsString().value_or("") : "";
}

// Of ["[CLS]", 101].
std::string_view FirstText(JsonValue processor, std::string_view name) {
  const auto pair = processor.Find(name);
  return pair && pair->size() > 0 ? (*pair->begin()).AsString().value_or("") : "";
}

// BertProcessing and RobertaProcessing name both tokens, a template lists all that there is.
Frame FrameOfOne(JsonValue processor) {
  Frame frame = {.begin = FirstText(processor, "cls"), .end = FirstText(processor, "sep")};
  const auto single = processor.Find("single");
  if (!single || single->size() == 0) return frame;
  frame.begin = SpecialOf(*single->begin());
  for (const JsonValue element : *single) frame.end = SpecialOf(element);
  return frame;
}

// Of several, the first that has any. Those inside of others are not looked for: nobody nests them.
Frame FrameOf(JsonValue tokenizer) {
  const auto processor = tokenizer.Find("post_processor");
  if (!processor) return {};
  const auto several = processor->Find("processors");
  if (!several) return FrameOfOne(*processor);
  for (const JsonValue each : *several) {
    const Frame frame = FrameOfOne(each);
    if (!frame.begin.empty() || !frame.end.empty()) return frame;
  }
  return {};
}

void SetId(std::string_view key, std::optional<int64_t> id, formats::MetadataWriter* metadata) {
  if (id) metadata->SetInt("tokenizer.ggml." + std::string(key), *id);
}

}  // namespace

void WriteSpecialTokens(const TokenizerDocuments& documents, const TokenizerVocabulary& vocabulary,
                        formats::MetadataWriter* metadata) {
  const Specials specials(documents, vocabulary);
  const std::vector<int64_t> begins = specials.Numbers("bos_token_id");
  std::optional<int64_t> bos = specials.Named("bos_token");
  if (!bos && !begins.empty()) bos = begins.front();
  SetId("bos_token_id", bos, metadata);
  std::vector<int64_t> ends = specials.Numbers("eos_token_id");
  std::optional<int64_t> eos = specials.Named("eos_token");
  if (!eos && !ends.empty()) eos = ends.front();
  SetId("eos_token_id", eos, metadata);
  // Chat models end in several ways; the other ends have keys of their own.
  std::erase_if(ends, [&](int64_t id) { return id == eos; });
  if (!ends.empty()) SetId("eot_token_id", ends[0], metadata);
  if (ends.size() > 1) SetId("eom_token_id", ends[1], metadata);
  SetId("padding_token_id", specials.Named("pad_token"), metadata);
  SetId("seperator_token_id", specials.Named("sep_token"), metadata);  // so spelled
  const std::optional<int64_t> unknown = vocabulary.FirstOf(kUnknown);
  SetId("unknown_token_id", unknown ? unknown : specials.Named("unk_token"), metadata);
  const Frame frame = FrameOf(documents.tokenizer.root());
  metadata->SetBool("tokenizer.ggml.add_bos_token",
                    specials.Adds("add_bos_token", bos, frame.begin));
  metadata->SetBool("tokenizer.ggml.add_eos_token", specials.Adds("add_eos_token", eos, frame.end));
}

void WriteFrameTokens(const TokenizerDocuments& documents, const TokenizerVocabulary& vocabulary,
                      formats::MetadataWriter* metadata) {
  const Specials specials(documents, vocabulary);
  const Frame frame = FrameOf(documents.tokenizer.root());
  const std::optional<int64_t> begin = specials.Named("cls_token");
  const std::optional<int64_t> end = specials.Named("sep_token");
  SetId("cls_token_id", begin, metadata);
  SetId("seperator_token_id", end, metadata);  // so spelled
  SetId("padding_token_id", specials.Named("pad_token"), metadata);
  metadata->SetBool("tokenizer.ggml.add_bos_token", specials.Adds({}, begin, frame.begin));
  metadata->SetBool("tokenizer.ggml.add_sep_token", specials.Adds({}, end, frame.end));
}

}  // namespace skald::huggingface
