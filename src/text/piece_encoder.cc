#include "text/piece_encoder.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/space_mark.h"
#include "text/unicode.h"

namespace skald::text {

PieceEncoder::PieceEncoder(PreTokenizer pieces, BpeEncoder bpe, Before before)
    : pieces_(std::move(pieces)), bpe_(std::move(bpe)), before_(before) {}

Status PieceEncoder::Encode(std::string_view text, MergeScratch* scratch,
                            std::vector<TokenId>* out) const {
  std::string normalized;
  if (before_.normalization == Normalization::kC) {
    ASSIGN_OR_RETURN(normalized, NormalizedC(text, &scratch->pace));
    text = normalized;
  }
  std::string spaced;
  if (before_.alphabet == Alphabet::kCharacters) {
    AppendWithSpaces(text, &spaced);
    text = spaced;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string_view> split, pieces_.Split(text, scratch->pace));
  for (const std::string_view piece : split) {
    const bool well_formed = ReadUtf8(piece).kind == Utf8Sequence::Kind::kWellFormed;
    const bool spelled = well_formed || bpe_.Spells(piece);
    RETURN_IF_ERROR(bpe_.Encode(spelled ? piece : kReplacementCharacter, scratch, out));
  }
  return Ok();
}

}  // namespace skald::text
