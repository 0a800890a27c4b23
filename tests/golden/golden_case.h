/// One recorded comparison case: a model, tokens, and what another engine computed. Two folders
/// have such cases: the compact set that comes with the source, and the large one beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"

namespace skald::golden {

/// Where cases lie. What is missing there is an error, never a reason to skip.
struct GoldenFolders {
  std::string numbers;   ///< NAME.json, NAME.logits.f32, NAME.exact.f32
  std::string models;    ///< NAME.gguf
  double tolerance = 0;  ///< between logits of float models; README.md of the numbers says why
  double exact_tolerance = 0;  ///< between theirs and the exact ones, where those were recorded
};

/// The greedy tokens that every case has.
inline constexpr size_t kGreedyTokens = 24;

struct GoldenCase {
  std::string model_path;
  int64_t vocab = 0;
  std::vector<TokenId> tokens;        ///< put in
  std::vector<TokenId> continuation;  ///< greedy, of the recorded engine: kGreedyTokens
  std::vector<float> logits;          ///< [tokens][vocab], of the recorded engine
  /// The same of the dequantized weights in float arithmetic without the engine's roundings, where
  /// that was recorded; else empty.
  std::vector<float> exact;
  /// Other tokens, more than any window sees, and the logits of the last: the exact ones where
  /// those were recorded. Empty in cases without.
  std::vector<TokenId> long_tokens;
  std::vector<float> long_last;
};

/// What must have been recorded of a case.
enum class Recorded { kLogits, kLogitsAndExact };

/// Reads NAME.json and the files it goes with. An error if a number is missing or not finite.
Result<GoldenCase> ReadCase(const GoldenFolders& folders, const std::string& name,
                            Recorded recorded);

/// A recorded comparison case of an embedding model. The vectors are as the network gives them: not
/// of length 1.
struct EmbeddingCase {
  std::string model_path;
  int64_t width = 0;
  std::vector<TokenId> tokens;
  /// [tokens][width]: of each token, without the engine's roundings where that was recorded.
  std::vector<float> rows;
  std::vector<float> pooled;  ///< [width]: of the text, pooled as the file says, with them
};

/// Reads NAME.json and the files it goes with. An error if a number is missing or not finite.
Result<EmbeddingCase> ReadEmbeddingCase(const GoldenFolders& folders, const std::string& name);

/// Mean over the rows of KL(softmax(exact) || softmax(other)), in double. Sizes must be equal.
double MeanKl(const std::vector<float>& exact, const std::vector<float>& other, int64_t vocab);

/// Largest absolute difference; infinite where sizes differ or one is no number.
double MaxDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace skald::golden
