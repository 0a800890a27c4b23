/// The pre-tokenizers that have a name: what each is, as data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "skald/status.h"

namespace skald::text {

/// What becomes of a match of a stage's pattern.
enum class Cut : uint8_t {
  kWhole,            ///< it is a piece
  kThreesFromRight,  ///< it is cut into threes of characters, what is left over first: 12|345|678
  kAfterThrees,      ///< the same, but what stands before the match stays with the first of these
  kBeforeThrees,     ///< cut in front of each three only: what is left over stays with what stands
                     ///< before it, and what stands behind the match with the last three
};

/// One pass over the pieces of the pass before: each is cut into the matches of `pattern` and what
/// lies between them.
struct SplitStage {
  std::string_view pattern = {};  ///< of PCRE2, after PatternForPcre2
  Cut cut = Cut::kWhole;
};

/// Whether a piece that is a token as a whole is that token, whatever the merges say.
enum class WholePieces : uint8_t {
  kMerge,
  kTakeWhole,
  kTakeNewlines,  ///< pieces of nothing but newlines are
};

/// What merging begins with.
enum class Alphabet : uint8_t {
  kBytes,       ///< each byte is a token, spelled by a character of byte_level.h
  kCharacters,  ///< each character is, as in SentencePiece; byte tokens spell what is none
};

/// What becomes of a text before it is cut.
enum class Normalization : uint8_t {
  kNone,
  kC,  ///< Unicode's form C: accents and Hangul composed
};

/// What a name stands for.
struct PreTokenizerRule {
  std::string_view name = {};  ///< in lower case, as in the key tokenizer.ggml.pre
  std::span<const SplitStage> stages = {};
  WholePieces whole_pieces = WholePieces::kMerge;  ///< "ignore_merges" in tokenizer.json
  Alphabet alphabet = Alphabet::kBytes;
  Normalization normalization = Normalization::kNone;  ///< "normalizer" in tokenizer.json
  bool adds_bos = false;                               ///< where the file does not say
};

/// The rule called `name`; the empty name is "default", as in llama.cpp. Errors: kUnsupported for a
/// name that is not known, with those that are.
Result<const PreTokenizerRule*> FindPreTokenizerRule(std::string_view name);

/// All rules, "default" first, the others in alphabetical order.
std::span<const PreTokenizerRule> PreTokenizerRules();

}  // namespace skald::text
