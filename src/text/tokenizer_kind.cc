#include "text/tokenizer_kind.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "text/bpe_encoder.h"
#include "text/piece_encoder.h"
#include "text/spm_encoder.h"
#include "text/unigram_encoder.h"
#include "text/word_piece_encoder.h"

namespace skald::text {

namespace {

using Encoder = std::unique_ptr<const TextEncoder>;

Status CheckScores(const EncoderSource& source) {
  if (!source.spec.scores.empty()) return Ok();
  return Status(ErrorCode::kBadModel, "token scores are missing: a " +
                                          std::string(source.kind.what) +
                                          " vocabulary needs one for each token");
}

Result<Encoder> MakeSentencePiece(const EncoderSource& source) {
  RETURN_IF_ERROR(CheckScores(source));
  const auto prefix = source.spec.add_space_prefix.value_or(source.kind.default_space_prefix)
                          ? SpacePrefix::kAdd
                          : SpacePrefix::kNone;
  return Encoder(std::make_unique<const SpmEncoder>(source.vocab, source.unk, prefix));
}

Result<Encoder> MakeBpe(const EncoderSource& source) {
  ASSIGN_OR_RETURN(PreTokenizer pieces, PreTokenizer::Create(*source.kind.rule));
  ASSIGN_OR_RETURN(BpeEncoder bpe,
                   BpeEncoder::Create(source.vocab, source.unk, source.spec, *source.kind.rule));
  const PreTokenizerRule& rule = *source.kind.rule;
  const PieceEncoder::Before before = {
      .normalization = source.spec.normalization.value_or(rule.normalization),
      .alphabet = rule.alphabet};
  return Encoder(std::make_unique<const PieceEncoder>(std::move(pieces), std::move(bpe), before));
}

Result<Encoder> MakeUnigram(const EncoderSource& source) {
  RETURN_IF_ERROR(CheckScores(source));
  ASSIGN_OR_RETURN(UnigramEncoder encoder,
                   UnigramEncoder::Create(source.spec, source.vocab, source.unk));
  return Encoder(std::make_unique<const UnigramEncoder>(std::move(encoder)));
}

Result<Encoder> MakeWordPiece(const EncoderSource& source) {
  ASSIGN_OR_RETURN(WordPieceEncoder encoder,
                   WordPieceEncoder::Create(source.spec, source.vocab, source.unk));
  return Encoder(std::make_unique<const WordPieceEncoder>(std::move(encoder)));
}

// The ids of "llama" are those that SentencePiece's trainer gives, those of "t5" T5's.
constexpr TokenizerKind kKinds[] = {
    {.model = "llama",
     .what = "SentencePiece BPE",
     .make_encoder = MakeSentencePiece,
     .spelling = TokenSpelling::kSentencePiece,
     .default_ids = {.bos = 1, .eos = 2, .unk = 0},
     .default_add_bos = true,
     .default_space_prefix = true},
    {.model = "gpt2", .what = "byte-level BPE", .make_encoder = MakeBpe},
    {.model = "gemma4", .what = "BPE on whole lines", .make_encoder = MakeBpe, .pre = "gemma4"},
    {.model = "t5",
     .what = "Unigram",
     .make_encoder = MakeUnigram,
     .spelling = TokenSpelling::kSentencePiece,
     .default_ids = {.eos = 1, .unk = 2, .pad = 0},
     .default_add_eos = true,
     .default_space_prefix = true},
    {.model = "bert",
     .what = "WordPiece",
     .make_encoder = MakeWordPiece,
     .spelling = TokenSpelling::kSentencePiece,
     .default_add_bos = true,
     .default_add_sep = true},
};

Status UnknownModel(const std::string& model) {
  std::string known;
  for (const TokenizerKind& kind : kKinds) {
    known +=
        (known.empty() ? "" : ", ") + std::string(kind.model) + " (" + std::string(kind.what) + ")";
  }
  return Status(ErrorCode::kUnsupported, "tokenizer model '" + model.substr(0, 64) +
                                             "' is not supported; supported are " + known);
}

}  // namespace

Result<TokenizerKind> KindOf(const TokenizerSpec& spec) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&spec](const auto& kind) { return kind.model == spec.model; });
  if (found == std::end(kKinds)) return UnknownModel(spec.model);
  TokenizerKind kind = *found;
  if (kind.make_encoder == MakeBpe) {
    ASSIGN_OR_RETURN(kind.rule, FindPreTokenizerRule(kind.pre.empty() ? spec.pre : kind.pre));
    kind.default_add_bos = kind.rule->adds_bos;
    if (kind.rule->alphabet == Alphabet::kCharacters) kind.spelling = TokenSpelling::kSentencePiece;
  }
  return kind;
}

}  // namespace skald::text
