/// RankRequest: the body of /v1/rerank or /v1/score as a typed value: pairs of texts to be scored.
///
/// As GenerationRequest: the one place that knows the fields; pure. What only a model can check
/// (lengths in tokens, whether it ranks at all) remains.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "server/api_error.h"

namespace skald::server {

/// Pairs of one request, as many as /v1/embeddings takes inputs.
inline constexpr size_t kMaxPairs = 2048;
/// Bytes of text of all pairs together. A query is read once for each document: without a bound a
/// short body could ask for the work of one a thousand times as long.
inline constexpr size_t kMaxPairBytes = size_t{8} << 20;

/// What the answer is.
enum class RankAnswer : uint8_t {
  kResults,  ///< of /v1/rerank: the documents, the best first
  kScores,   ///< of /v1/score: a number for each pair, in their order
};

/// See above.
struct RankRequest {
  RankAnswer answer = RankAnswer::kResults;
  std::string model;                 ///< as asked; empty if not
  std::vector<std::string> queries;  ///< one for all documents, or one for each
  std::vector<std::string> documents;
  size_t top = std::numeric_limits<size_t>::max();  ///< results wanted, the best
  bool return_documents = false;
  bool raw_scores = false;  ///< logits in place of relevances between 0 and 1
  std::string cache_salt;
  std::vector<std::string> ignored;  ///< names of fields that nobody knows

  const std::string& query(size_t pair) const { return queries[queries.size() == 1 ? 0 : pair]; }
};

OrError<RankRequest> ReadRerankRequest(const boost::json::value& body);
OrError<RankRequest> ReadScoreRequest(const boost::json::value& body);

}  // namespace skald::server
