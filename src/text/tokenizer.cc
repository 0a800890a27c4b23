#include "skald/tokenizer.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/merge.h"
#include "text/special_matcher.h"
#include "text/tokenizer_kind.h"
#include "text/tokenizer_spec.h"
#include "text/vocab.h"

namespace skald {

namespace {

using text::SpecialMatch;
using text::SpecialMatcher;
using text::SpecialSet;
using text::TokenizerKind;
using text::TokenizerSpec;
using text::Vocab;

// Tokens that end a turn, by name, for files that do not say which does. In order of preference.
constexpr std::string_view kEndOfTurnNames[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
    "<end_of_utterance>",
};
// Further tokens at which generation ends, by name. Both lists are llama.cpp's
// (llama_vocab::impl::load).
constexpr std::string_view kEndOfGenerationNames[] = {
    "<|return|>", "<|call|>",   "<|flush|>",    "<|calls|>",        "</s>",          "<|eom_id|>",
    "[EOS]",      "<eos>",      "<turn|>",      "<|tool_response>", "<|fim_pad|>",   "<fim-pad>",
    "<fim_pad>",  "<PAD>",      "[PAD]",        "<|fim_repo|>",     "<|repo_name|>", "<fim-repo>",
    "<REPO>",     "<reponame>", "<|file_sep|>",
};

// Tokens before names, as llama.cpp knows them.
constexpr std::string_view kRepositoryNames[] = {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>",
                                                 "<REPO>", "<reponame>"};
constexpr std::string_view kFileNames[] = {"<|file_sep|>"};

// What llama.cpp writes for names that its clients do not give: the repository's, and that of the
// file with the gap.
constexpr std::string_view kRepository = "myproject\n";
constexpr std::string_view kOwnFile = "filename\n";
// Between files where the model has no token for them.
constexpr std::string_view kSnippet = "\n\n--- snippet ---\n\n";

// Tokens around a gap, by name, as llama.cpp knows them: before it, behind it, for it.
struct FillNames {
  std::string_view prefix, suffix, middle;
};
constexpr FillNames kFillNames[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "begin\xEF\xBD\x9C>",
     "<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "hole\xEF\xBD\x9C>",
     "<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "end\xEF\xBD\x9C>"},
    {"<PRE>", "<SUF>", "<MID>"},
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
};

Status CheckId(std::string_view name, std::optional<int64_t> id, TokenId size, TokenId* out) {
  if (!id) return Ok();
  if (*id < 0 || *id >= size) {
    return Status(ErrorCode::kBadModel, std::string(name) + ": expected a token id below " +
                                            std::to_string(size) + ", found " +
                                            std::to_string(*id));
  }
  *out = static_cast<TokenId>(*id);
  return Ok();
}

Status CheckLength(std::string_view text) {
  if (text.size() <= static_cast<size_t>(Tokenizer::kMaxTextBytes)) return Ok();
  return Status(ErrorCode::kInvalidArgument, "text is too long to tokenize: at most " +
                                                 std::to_string(Tokenizer::kMaxTextBytes) +
                                                 " bytes, found " + std::to_string(text.size()));
}

// The first of the names that the vocabulary has.
TokenId FindOneOf(std::span<const std::string_view> names, const Vocab& vocab) {
  for (const std::string_view name : names) {
    if (const TokenId id = vocab.Find(name); id != kNoToken) return id;
  }
  return kNoToken;
}

bool IsComplete(const FillTokens& fill) {
  return fill.prefix != kNoToken && fill.suffix != kNoToken && fill.middle != kNoToken;
}

}  // namespace

/// Everything a tokenizer knows. Does not move: the encoders point to the vocabulary.
struct Tokenizer::Impl {
  Impl(Vocab vocabulary, const TokenizerKind& its_kind)
      : vocab(std::move(vocabulary)), kind(its_kind) {}

  Status ResolveIds(const TokenizerSpec& spec);
  Status ResolveBoundaries(const TokenizerSpec& spec);
  void ResolveGap(const TokenizerSpec& spec);
  void FindFill();
  void FindEndOfGeneration();
  void AddEndOfGeneration(TokenId id);

  // The tokens of a text in which `matches` were found.
  Result<std::vector<TokenId>> EncodeBetween(std::string_view text,
                                             const std::vector<SpecialMatch>& matches,
                                             BoundaryTokens boundary, StopCheck stop) const;

  Vocab vocab;
  TokenizerKind kind;
  std::unique_ptr<const text::TextEncoder> encoder;
  std::optional<SpecialMatcher> special;

  TokenId bos = kNoToken, eos = kNoToken, eot = kNoToken, eom = kNoToken;
  TokenId unk = kNoToken, pad = kNoToken, sep = kNoToken;
  FillTokens fill;
  bool add_bos = false, add_eos = false, add_sep = false, add_space_prefix = false;
  std::vector<TokenId> end_of_generation;   // ascending
  std::vector<TokenId> pair_gap, pair_end;  // behind the first text of a pair, behind the second
};

Status Tokenizer::Impl::ResolveIds(const TokenizerSpec& spec) {
  const auto resolve = [&](std::string_view name, std::optional<int64_t> text::SpecialIds::*which,
                           TokenId* out) {
    const std::optional<int64_t> usual = kind.default_ids.*which;
    if (usual && *usual < vocab.size()) *out = static_cast<TokenId>(*usual);
    return CheckId(name, spec.ids.*which, vocab.size(), out);
  };
  RETURN_IF_ERROR(resolve("bos_token_id", &text::SpecialIds::bos, &bos));
  RETURN_IF_ERROR(resolve("eos_token_id", &text::SpecialIds::eos, &eos));
  RETURN_IF_ERROR(resolve("eot_token_id", &text::SpecialIds::eot, &eot));
  RETURN_IF_ERROR(resolve("eom_token_id", &text::SpecialIds::eom, &eom));
  RETURN_IF_ERROR(resolve("unknown_token_id", &text::SpecialIds::unk, &unk));
  RETURN_IF_ERROR(resolve("seperator_token_id", &text::SpecialIds::sep, &sep));  // so spelled
  if (!spec.ids.bos) RETURN_IF_ERROR(resolve("cls_token_id", &text::SpecialIds::cls, &bos));
  RETURN_IF_ERROR(resolve("padding_token_id", &text::SpecialIds::pad, &pad));
  RETURN_IF_ERROR(resolve("fim_pre_token_id", &text::SpecialIds::fim_prefix, &fill.prefix));
  RETURN_IF_ERROR(resolve("fim_suf_token_id", &text::SpecialIds::fim_suffix, &fill.suffix));
  RETURN_IF_ERROR(resolve("fim_mid_token_id", &text::SpecialIds::fim_middle, &fill.middle));
  RETURN_IF_ERROR(resolve("fim_rep_token_id", &text::SpecialIds::fim_repository, &fill.repository));
  return resolve("fim_sep_token_id", &text::SpecialIds::fim_file, &fill.file);
}

void Tokenizer::Impl::FindFill() {
  if (fill.repository == kNoToken) fill.repository = FindOneOf(kRepositoryNames, vocab);
  if (fill.file == kNoToken) fill.file = FindOneOf(kFileNames, vocab);
  // What the model file says of one of the three, it says of all.
  if (fill.prefix != kNoToken || fill.suffix != kNoToken || fill.middle != kNoToken) return;
  for (const FillNames& names : kFillNames) {
    FillTokens found = fill;
    found.prefix = vocab.Find(names.prefix);
    found.suffix = vocab.Find(names.suffix);
    found.middle = vocab.Find(names.middle);
    if (!IsComplete(found)) continue;
    fill = found;
    return;
  }
}

Status Tokenizer::Impl::ResolveBoundaries(const TokenizerSpec& spec) {
  add_bos = spec.add_bos.value_or(kind.default_add_bos && bos != kNoToken);
  add_eos = spec.add_eos.value_or(kind.default_add_eos && eos != kNoToken);
  add_sep = spec.add_sep.value_or(true) && kind.default_add_sep && sep != kNoToken;
  ResolveGap(spec);
  add_space_prefix = spec.add_space_prefix.value_or(true) && kind.default_space_prefix;
  if (add_bos && bos == kNoToken) {
    return Status(ErrorCode::kBadModel, "add_bos_token is true, but there is no bos_token_id");
  }
  if (add_eos && eos == kNoToken) {
    return Status(ErrorCode::kBadModel, "add_eos_token is true, but there is no eos_token_id");
  }
  return Ok();
}

// What stands between the texts of a pair, and behind the second. Whether there is one mark or two
// between them a file may say; not for WordPiece, whose add_sep_token is of one text.
void Tokenizer::Impl::ResolveGap(const TokenizerSpec& spec) {
  const TokenId end = add_sep ? sep : add_eos ? eos : kNoToken;
  if (end == kNoToken) return;
  pair_end = {end};
  pair_gap = {end};
  const bool like_roberta = add_bos && bos != kNoToken && vocab.Bytes(bos) == "<s>";
  const bool twice = !kind.default_add_sep && spec.add_sep.value_or(like_roberta);
  if (twice) pair_gap.push_back(sep != kNoToken ? sep : end);
}

void Tokenizer::Impl::AddEndOfGeneration(TokenId id) {
  if (id == kNoToken) return;
  const auto place = std::lower_bound(end_of_generation.begin(), end_of_generation.end(), id);
  if (place == end_of_generation.end() || *place != id) end_of_generation.insert(place, id);
}

void Tokenizer::Impl::FindEndOfGeneration() {
  // A token of such a name ends generation even if the file calls it normal (files do), and then it
  // is a control token for all purposes: text must not become it. A normal token that ordinary text
  // merges into, such as "</s>" in a vocabulary trained on HTML, is left alone.
  const auto find_marker = [this](std::string_view name) {
    const TokenId id = vocab.Find(name);
    if (id == kNoToken || vocab.Type(id) == TokenType::kByte) return kNoToken;
    if (vocab.Type(id) == TokenType::kNormal && encoder->Forms(id)) return kNoToken;
    if (vocab.Type(id) != TokenType::kControl) vocab.MarkControl(id);
    return id;
  };
  for (const std::string_view name : kEndOfTurnNames) {
    const TokenId id = find_marker(name);
    AddEndOfGeneration(id);
    if (eot == kNoToken) eot = id;
  }
  for (const std::string_view name : kEndOfGenerationNames) AddEndOfGeneration(find_marker(name));
  AddEndOfGeneration(eos);
  AddEndOfGeneration(eot);
  AddEndOfGeneration(eom);
  // In the "harmony" format <|end|> ends one message of several, not the answer.
  const auto ends = [this](std::string_view name) {
    const TokenId id = vocab.Find(name);
    return id != kNoToken &&
           std::binary_search(end_of_generation.begin(), end_of_generation.end(), id);
  };
  if ((ends("<|return|>") && ends("<|call|>")) || (ends("<|calls|>") && ends("<|flush|>"))) {
    std::erase(end_of_generation, vocab.Find("<|end|>"));
  }
}

Result<std::vector<TokenId>> Tokenizer::Impl::EncodeBetween(
    std::string_view text, const std::vector<SpecialMatch>& matches, BoundaryTokens boundary,
    StopCheck stop) const {
  const bool boundaries = boundary == BoundaryTokens::kAsModel;
  std::vector<TokenId> ids;
  text::MergeScratch scratch(stop);
  if (boundaries && add_bos) ids.push_back(bos);
  const auto encode = [&](size_t begin, size_t end) {
    if (begin == end) return Ok();
    return encoder->Encode(text.substr(begin, end - begin), &scratch, &ids);
  };
  size_t at = 0;
  for (const SpecialMatch& match : matches) {
    RETURN_IF_ERROR(encode(at, match.begin));
    ids.push_back(match.id);
    at = match.begin + match.length;
  }
  RETURN_IF_ERROR(encode(at, text.size()));
  if (boundaries && add_eos) ids.push_back(eos);
  if (boundaries && add_sep) ids.push_back(sep);
  return ids;
}

Result<PairTokens> Tokenizer::EncodePair(std::string_view first, std::string_view second,
                                         StopCheck stop) const {
  PairTokens pair;
  const auto append = [&](const std::vector<TokenId>& ids) {
    pair.tokens.insert(pair.tokens.end(), ids.begin(), ids.end());
  };
  const EncodeOptions options = {.boundary = BoundaryTokens::kNone, .stop = stop};
  if (impl_->add_bos) pair.tokens.push_back(impl_->bos);
  ASSIGN_OR_RETURN(const std::vector<TokenId> before, Encode(first, options));
  append(before);
  append(impl_->pair_gap);
  pair.second_text = static_cast<int64_t>(pair.tokens.size());
  ASSIGN_OR_RETURN(const std::vector<TokenId> behind, Encode(second, options));
  append(behind);
  append(impl_->pair_end);
  return pair;
}

std::optional<FillTokens> Tokenizer::fill_tokens() const {
  if (!IsComplete(impl_->fill)) return std::nullopt;
  return impl_->fill;
}

namespace {

// Writes the parts of a text with a gap, one behind the other.
class GapEncoder {
 public:
  GapEncoder(const Tokenizer& tokenizer, const FillTokens& fill, StopCheck stop)
      : tokenizer_(tokenizer),
        fill_(fill),
        options_({.boundary = BoundaryTokens::kNone, .stop = std::move(stop)}) {}

  // A mark, if the model has it, and a text.
  Status Add(TokenId mark, std::string_view text, std::vector<TokenId>* tokens) const {
    if (mark != kNoToken) tokens->push_back(mark);
    ASSIGN_OR_RETURN(const std::vector<TokenId> ids, tokenizer_.Encode(text, options_));
    tokens->insert(tokens->end(), ids.begin(), ids.end());
    return Ok();
  }

  Status AddGap(const GapText& gap, std::vector<TokenId>* tokens) const {
    RETURN_IF_ERROR(Add(fill_.prefix, gap.before, tokens));
    RETURN_IF_ERROR(Add(fill_.suffix, gap.behind, tokens));
    tokens->push_back(fill_.middle);
    return Ok();
  }

  // What stands before the first file, and behind the last.
  Status AddNames(std::string_view name, TokenId mark, std::vector<TokenId>* tokens) const {
    return mark == kNoToken ? Ok() : Add(mark, name, tokens);
  }

  Result<std::vector<TokenId>> File(const NamedText& file) const {
    std::vector<TokenId> tokens;
    const bool has_mark = fill_.file != kNoToken;
    RETURN_IF_ERROR(Add(fill_.file, has_mark ? file.name + "\n" : kSnippet, &tokens));
    RETURN_IF_ERROR(Add(kNoToken, file.text, &tokens));
    return tokens;
  }

 private:
  const Tokenizer& tokenizer_;
  const FillTokens fill_;
  const EncodeOptions options_;
};

// The last of the files whose tokens are not more than `most` together, in their order.
Status AddFiles(const GapEncoder& encoder, std::span<const NamedText> files, int64_t most,
                std::vector<TokenId>* tokens) {
  std::vector<std::vector<TokenId>> kept;  // the last first
  for (size_t i = files.size(); i > 0; --i) {
    ASSIGN_OR_RETURN(std::vector<TokenId> file, encoder.File(files[i - 1]));
    most -= static_cast<int64_t>(file.size());
    if (most < 0) break;
    kept.push_back(std::move(file));
  }
  for (size_t i = kept.size(); i > 0; --i)
    tokens->insert(tokens->end(), kept[i - 1].begin(), kept[i - 1].end());
  return Ok();
}

}  // namespace

Result<std::vector<TokenId>> Tokenizer::EncodeGap(const GapText& gap, StopCheck stop) const {
  const std::optional<FillTokens> fill = fill_tokens();
  if (!fill) {
    return Status(ErrorCode::kUnsupported,
                  "this model has no tokens for filling a gap (fim_pre_token_id, "
                  "fim_suf_token_id, fim_mid_token_id)");
  }
  const GapEncoder encoder(*this, *fill, std::move(stop));
  std::vector<TokenId> tokens;
  std::vector<TokenId> end;  // behind the files
  if (impl_->add_bos) tokens.push_back(impl_->bos);
  if (!gap.files.empty()) {
    RETURN_IF_ERROR(encoder.AddNames(kRepository, fill->repository, &tokens));
    RETURN_IF_ERROR(encoder.AddNames(kOwnFile, fill->file, &end));
  }
  RETURN_IF_ERROR(encoder.AddGap(gap, &end));
  const auto taken = static_cast<int64_t>(tokens.size() + end.size());
  RETURN_IF_ERROR(AddFiles(encoder, gap.files, gap.max_tokens - taken, &tokens));
  tokens.insert(tokens.end(), end.begin(), end.end());
  return tokens;
}

Result<Tokenizer> Tokenizer::Create(const TokenizerSpec& spec) {
  ASSIGN_OR_RETURN(const TokenizerKind kind, text::KindOf(spec));
  ASSIGN_OR_RETURN(Vocab vocab, Vocab::Create(spec, kind.spelling));
  auto impl = std::make_unique<Impl>(std::move(vocab), kind);
  RETURN_IF_ERROR(impl->ResolveIds(spec));
  RETURN_IF_ERROR(impl->ResolveBoundaries(spec));
  ASSIGN_OR_RETURN(impl->encoder, kind.make_encoder({spec, kind, impl->vocab, impl->unk}));
  impl->FindFill();
  impl->FindEndOfGeneration();
  impl->special.emplace(impl->vocab);
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&& other) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&& other) noexcept = default;

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  RETURN_IF_ERROR(CheckLength(text));
  const SpecialSet set = options.special == SpecialTokens::kParse
                             ? SpecialSet::kUserDefinedAndControl
                             : SpecialSet::kUserDefined;
  return impl_->EncodeBetween(text, impl_->special->Find(text, set), options.boundary,
                              options.stop);
}

Result<std::vector<TokenId>> Tokenizer::EncodeMixed(std::string_view text,
                                                    std::span<const TextRange> control_ranges,
                                                    BoundaryTokens boundary, StopCheck stop) const {
  RETURN_IF_ERROR(CheckLength(text));
  size_t at = 0;
  for (const TextRange range : control_ranges) {
    CHECK(at <= range.begin && range.begin <= range.end && range.end <= text.size());
    at = range.end;
  }
  return impl_->EncodeBetween(text, text::FindMixed(*impl_->special, text, control_ranges),
                              boundary, stop);
}

namespace {

// The bytes that `id` adds to decoded text. *at_start: nothing of the sequence was decoded yet.
std::string_view DecodedBytes(const Tokenizer& tokenizer, TokenId id, ControlTokens control,
                              bool space_prefix, bool* at_start) {
  if (!tokenizer.Contains(id)) return {};
  std::string_view bytes = tokenizer.TokenBytes(id);
  if (control == ControlTokens::kHide && tokenizer.IsControl(id)) bytes = {};
  if (*at_start && id != tokenizer.bos_id()) {
    if (space_prefix && !bytes.empty() && bytes[0] == ' ') bytes.remove_prefix(1);
    *at_start = false;
  }
  return bytes;
}

}  // namespace

std::string Tokenizer::DecodeBytes(std::span<const TokenId> ids,
                                   const DecodeOptions& options) const {
  std::string bytes;
  bool at_start = options.from == DecodeFrom::kStart;
  for (const TokenId id : ids) {
    bytes += DecodedBytes(*this, id, options.control, impl_->add_space_prefix, &at_start);
  }
  return bytes;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  std::string repaired;
  if (AppendRepaired(DecodeBytes(ids, options), &repaired) > 0) {
    repaired += kReplacementCharacter;
  }
  return repaired;
}

int64_t Tokenizer::vocab_size() const { return impl_->vocab.size(); }

std::string_view Tokenizer::TokenBytes(TokenId id) const {
  return Contains(id) ? impl_->vocab.Bytes(id) : std::string_view();
}

Result<std::vector<TokenId>> Tokenizer::TokensContaining(std::span<const std::string> texts) const {
  std::vector<bool> is_found(texts.size());
  std::bitset<256> begins;  // most bytes of a vocabulary begin none of the texts
  for (const std::string& text : texts) {
    if (!text.empty()) begins.set(static_cast<uint8_t>(text[0]));
  }
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < vocab_size(); ++id) {
    bool contains = false;
    for (std::string_view rest = TokenBytes(id); !rest.empty(); rest.remove_prefix(1)) {
      if (!begins[static_cast<uint8_t>(rest[0])]) continue;
      for (size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].empty() || !rest.starts_with(texts[i])) continue;
        is_found[i] = contains = true;
      }
    }
    if (contains) tokens.push_back(id);
  }
  const auto missing = std::find(is_found.begin(), is_found.end(), false);
  if (missing == is_found.end()) return tokens;
  return Status(ErrorCode::kInvalidArgument,
                "'" + texts[static_cast<size_t>(missing - is_found.begin())] +
                    "' stands in no token of this model; expected a text within a token");
}

std::string Tokenizer::EscapedToken(TokenId id) const {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped;
  std::string_view bytes = TokenBytes(id);
  while (!bytes.empty()) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    const auto length = static_cast<size_t>(sequence.length);
    const char first = bytes[0];
    if (sequence.kind == Utf8Sequence::Kind::kWellFormed && sequence.code_point >= 0xA0) {
      escaped += bytes.substr(0, length);
    } else if (length == 1 && first == '\\') {
      escaped += "\\\\";
    } else if (length == 1 && first == '\n') {
      escaped += "\\n";
    } else if (length == 1 && first == '\r') {
      escaped += "\\r";
    } else if (length == 1 && first == '\t') {
      escaped += "\\t";
    } else if (length == 1 && first >= 0x20 && first < 0x7F) {
      escaped += first;
    } else {
      for (const char c : bytes.substr(0, length)) {
        escaped += "\\x";
        escaped += kHex[static_cast<uint8_t>(c) >> 4];
        escaped += kHex[static_cast<uint8_t>(c) & 15];
      }
    }
    bytes.remove_prefix(length);
  }
  return escaped;
}

TokenType Tokenizer::Type(TokenId id) const {
  return Contains(id) ? impl_->vocab.Type(id) : TokenType::kUnused;
}

bool Tokenizer::IsControl(TokenId id) const { return Contains(id) && impl_->vocab.Hidden(id); }

TokenId Tokenizer::FindToken(std::string_view bytes) const { return impl_->vocab.Find(bytes); }

TokenId Tokenizer::bos_id() const { return impl_->bos; }
TokenId Tokenizer::eos_id() const { return impl_->eos; }
TokenId Tokenizer::eot_id() const { return impl_->eot; }
TokenId Tokenizer::unk_id() const { return impl_->unk; }
TokenId Tokenizer::sep_id() const { return impl_->sep; }
TokenId Tokenizer::pad_id() const { return impl_->pad; }
bool Tokenizer::add_bos() const { return impl_->add_bos; }
bool Tokenizer::add_eos() const { return impl_->add_eos; }

bool Tokenizer::IsEndOfGeneration(TokenId id) const {
  return std::binary_search(impl_->end_of_generation.begin(), impl_->end_of_generation.end(), id);
}

std::span<const TokenId> Tokenizer::end_of_generation_ids() const {
  return impl_->end_of_generation;
}

std::string_view Tokenizer::model_name() const { return impl_->kind.model; }

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options)
    : tokenizer_(&tokenizer), options_(options), at_start_(options.from == DecodeFrom::kStart) {}

std::string StreamDecoder::Push(TokenId id) {
  const auto mark = std::find_if(options_.marks.begin(), options_.marks.end(),
                                 [&](const TokenMark& each) { return each.token == id; });
  if (mark != options_.marks.end()) {
    // What was incomplete stays so: the text of the decoder is cut here.
    std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
    pending_.clear();
    at_start_ = false;
    return text + mark->bytes;
  }
  pending_ += DecodedBytes(*tokenizer_, id, options_.control, tokenizer_->impl_->add_space_prefix,
                           &at_start_);
  std::string text;
  const size_t incomplete = AppendRepaired(pending_, &text);
  pending_.erase(0, pending_.size() - incomplete);
  return text;
}

std::string StreamDecoder::Flush() {
  std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
  pending_.clear();
  at_start_ = options_.from == DecodeFrom::kStart;
  return text;
}

}  // namespace skald
