/// One recorded comparison case of the shared golden folder: a model, tokens, and what another
/// engine computed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"

namespace skald::golden {

/// Where the cases lie: beside the checkout. Tests that need them fail, rather than skip, where the
/// folder is missing.
std::string GoldenFolder();

struct GoldenCase {
  std::string model_path;
  int64_t vocab = 0;
  std::vector<TokenId> tokens;        ///< put in
  std::vector<TokenId> continuation;  ///< greedy, of the recorded engine
  std::vector<float> logits;          ///< [tokens][vocab], of the recorded engine
  std::vector<float>
      exact;  ///< the same of the dequantized weights in float arithmetic; empty if not recorded
};

/// Reads NAME.json and the files it goes with.
Result<GoldenCase> ReadCase(const std::string& name);

/// Mean over the rows of KL(softmax(exact) || softmax(other)), in double.
double MeanKl(const std::vector<float>& exact, const std::vector<float>& other, int64_t vocab);

/// Largest absolute difference.
double MaxDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace skald::golden
