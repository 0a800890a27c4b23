#include "huggingface/embedding_tokenizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/tokenizer_steps.h"

namespace skald::huggingface {
namespace {

// SentencePiece's mark for a space.
constexpr std::string_view kMark = "\u2581";

Status Unsupported(std::string problem) {
  return TokenizerError(std::move(problem), ErrorCode::kUnsupported);
}

Status UnknownStep(std::string_view where, JsonValue step) {
  return Unsupported(
      fmt::format("{} {} is not read here", where, formats::Quote(JsonText(step, "type"))));
}

// ---- WordPiece ----

// What BERT's code does whatever the file says, and this version, too.
Status CheckWordPiece(JsonValue model) {
  const auto prefix = model.Find("continuing_subword_prefix");
  if (prefix && prefix->AsString() != "##")
    return Unsupported("continuing_subword_prefix is not '##'");
  const auto limit = model.Find("max_input_chars_per_word");
  if (limit && limit->AsInt() != 100) return Unsupported("max_input_chars_per_word is not 100");
  return Ok();
}

Status WriteBertNormalizer(JsonValue root, formats::MetadataWriter* metadata) {
  const std::vector<JsonValue> steps = JsonSteps(root, "normalizer", "normalizers");
  if (steps.size() != 1) return Unsupported("expected one normalizer, BertNormalizer");
  const JsonValue step = steps.front();
  if (JsonText(step, "type") != "BertNormalizer") return UnknownStep("normalizer", step);
  for (const char* name : {"clean_text", "handle_chinese_chars"})
    if (!JsonFlag(step, name, true)) return Unsupported(fmt::format("{} is false", name));
  metadata->SetBool("tokenizer.ggml.normalizer.lowercase", JsonFlag(step, "lowercase", true));
  const auto accents = step.Find("strip_accents");
  const auto strips = accents ? accents->AsBool() : std::nullopt;
  if (strips) metadata->SetBool("tokenizer.ggml.normalizer.strip_accents", *strips);
  for (const JsonValue splitter : JsonSteps(root, "pre_tokenizer", "pretokenizers"))
    if (JsonText(splitter, "type") != "BertPreTokenizer")
      return UnknownStep("pre-tokenizer", splitter);
  return Ok();
}

// ---- Unigram ----

int DigitOf(char c) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t place = kDigits.find(c);
  return place == std::string_view::npos ? -1 : static_cast<int>(place);
}

// RFC 4648, with its padding.
Result<std::vector<int64_t>> BytesOfBase64(std::string_view text) {
  std::vector<int64_t> bytes;
  const Status bad = TokenizerError("precompiled_charsmap is no base64");
  if (text.size() % 4 != 0) return bad;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  bytes.reserve(digits.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : digits) {
    const int digit = DigitOf(c);
    if (digit < 0) return bad;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(bits >> count & 0xff);
  }
  return bytes;
}

// What becomes of spaces: SentencePiece either leaves them or makes one of several and none at the
// ends. Files say the second in several ways.
struct Spaces {
  bool has_charsmap = false;
  bool joins = false;       // several become one
  bool drops_last = false;  // those at the end
  bool splits = false;      // at white space, which goes
  bool adds_first = false;
};

Status ReadNormalizer(JsonValue root, Spaces* spaces, formats::MetadataWriter* metadata) {
  for (const JsonValue step : JsonSteps(root, "normalizer", "normalizers")) {
    const std::string_view type = JsonText(step, "type");
    const auto pattern = step.Find("pattern");
    if (type == "Precompiled" && !spaces->has_charsmap) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> map,
                       BytesOfBase64(JsonText(step, "precompiled_charsmap")));
      if (!map.empty()) metadata->SetInts("tokenizer.ggml.precompiled_charsmap", map);
      spaces->has_charsmap = true;
    } else if (type == "Replace" && pattern && JsonText(*pattern, "Regex") == " {2,}") {
      spaces->joins = true;
    } else if (type == "Strip" && JsonFlag(step, "strip_right", true)) {
      spaces->drops_last = true;
    } else {
      return UnknownStep("normalizer", step);
    }
  }
  return Ok();
}

Status ReadMetaspace(JsonValue root, Spaces* spaces) {
  bool has_mark = false;
  for (const JsonValue step : JsonSteps(root, "pre_tokenizer", "pretokenizers")) {
    const std::string_view type = JsonText(step, "type");
    if (type == "WhitespaceSplit") {
      spaces->splits = true;
    } else if (type == "Metaspace") {
      has_mark = true;
      const std::string_view scheme = JsonText(step, "prepend_scheme");
      spaces->adds_first =
          scheme.empty() ? JsonFlag(step, "add_prefix_space", true) : scheme != "never";
    } else {
      return UnknownStep("pre-tokenizer", step);
    }
  }
  return has_mark ? Ok() : Unsupported("a Unigram without Metaspace is not read");
}

// White space other than U+0020 becomes such in the charsmap; without one it would stay.
Result<bool> RemovesSpaces(const Spaces& spaces) {
  const bool removes = spaces.splits || (spaces.joins && spaces.drops_last);
  if (removes && !spaces.has_charsmap)
    return Unsupported("spaces that go without a precompiled_charsmap are not read");
  if (!removes && (spaces.joins || spaces.drops_last))
    return Unsupported("spaces that go in some places only are not read");
  return removes;
}

Status ReadPieces(JsonValue model, TokenizerVocabulary* vocabulary, std::vector<float>* scores) {
  const bool has_bytes = JsonFlag(model, "byte_fallback", false);
  const auto vocab = model.Find("vocab");
  if (!vocab || !vocab->IsArray()) return TokenizerError("'model.vocab' is missing");
  int64_t id = 0;
  for (const JsonValue piece : *vocab) {
    auto part = piece.begin();
    if (piece.size() != 2 || !(*part).IsString())
      return TokenizerError("a piece is no pair of a string and a score");
    const std::string_view token = *(*part).AsString();
    const std::optional<double> score = (*++part).AsNumber();
    if (!score) return TokenizerError("a piece is no pair of a string and a score");
    RETURN_IF_ERROR(vocabulary->Put(token, id, has_bytes && IsByteToken(token) ? kByte : kNormal));
    (*scores)[static_cast<size_t>(id)] = static_cast<float>(*score);
    ++id;
  }
  return Ok();
}

// The unknown token has its own type, and so has an added one that is not special.
Status PutUnknown(JsonValue model, TokenizerVocabulary* vocabulary) {
  const auto member = model.Find("unk_id");
  const auto id = member ? member->AsInt() : std::nullopt;
  const auto size = static_cast<int64_t>(vocabulary->size());
  if (!id || *id < 0 || *id >= size)
    return TokenizerError(fmt::format("'model.unk_id' is no id from 0 to {}", size - 1));
  return vocabulary->Put(vocabulary->tokens()[static_cast<size_t>(*id)], id, kUnknown);
}

}  // namespace

Status WriteWordPiece(JsonValue root, TokenizerVocabulary* vocabulary,
                      formats::MetadataWriter* metadata) {
  const auto model = root.Find("model");
  RETURN_IF_ERROR(CheckWordPiece(*model));
  RETURN_IF_ERROR(WriteBertNormalizer(root, metadata));
  const auto vocab = model->Find("vocab");
  if (!vocab || !vocab->IsObject()) return TokenizerError("'model.vocab' is missing");
  for (const JsonValue token : *vocab)
    RETURN_IF_ERROR(vocabulary->Put(token.name(), token.AsInt(), kNormal));
  RETURN_IF_ERROR(vocabulary->PutAdded(root));
  const std::string_view unknown = JsonText(*model, "unk_token");
  const std::optional<int64_t> unknown_id = vocabulary->IdOf(unknown);
  if (!unknown_id)
    return TokenizerError(fmt::format("unk_token {} is no token", formats::Quote(unknown)));
  metadata->SetInt("tokenizer.ggml.unknown_token_id", *unknown_id);
  for (size_t id = 0; id < vocabulary->size(); ++id) {
    if (vocabulary->types()[id] != kNormal || static_cast<int64_t>(id) == *unknown_id) continue;
    const std::string_view token = vocabulary->tokens()[id];
    constexpr std::string_view kInside = "##";
    vocabulary->Respell(id, token.starts_with(kInside) ? std::string(token.substr(kInside.size()))
                                                       : std::string(kMark) + std::string(token));
  }
  metadata->SetString("tokenizer.ggml.model", "bert");
  vocabulary->Write(metadata);
  return Ok();
}

Status WriteUnigram(JsonValue root, TokenizerVocabulary* vocabulary,
                    formats::MetadataWriter* metadata) {
  const auto model = root.Find("model");
  Spaces spaces;
  RETURN_IF_ERROR(ReadNormalizer(root, &spaces, metadata));
  RETURN_IF_ERROR(ReadMetaspace(root, &spaces));
  ASSIGN_OR_RETURN(const bool removes, RemovesSpaces(spaces));
  std::vector<float> scores(vocabulary->size());
  RETURN_IF_ERROR(ReadPieces(*model, vocabulary, &scores));
  RETURN_IF_ERROR(vocabulary->PutAdded(root));
  RETURN_IF_ERROR(PutUnknown(*model, vocabulary));
  metadata->SetString("tokenizer.ggml.model", "t5");
  vocabulary->Write(metadata);
  metadata->SetFloats("tokenizer.ggml.scores", scores);
  metadata->SetBool("tokenizer.ggml.add_space_prefix", spaces.adds_first);
  metadata->SetBool("tokenizer.ggml.remove_extra_whitespaces", removes);
  return Ok();
}

}  // namespace skald::huggingface
