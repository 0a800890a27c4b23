/// RankWriter: the answers of /v1/rerank and /v1/score.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/rank_request.h"
#include "server/vector_writer.h"

namespace skald::server {

/// The sigmoid of a score: between 0 and 1, the same bits on every machine.
double Relevance(float score);

/// See above. Its vectors have one number each.
class RankWriter final : public VectorWriter {
 public:
  /// Takes what the answer needs of the request; of the documents only those that it repeats.
  explicit RankWriter(RankRequest request);

  /// The most bytes of the list.
  int64_t bytes() const;

  std::string_view opening() const override;
  std::vector<std::string> List(std::vector<std::vector<float>> vectors) const override;
  void AddMembers(const VectorFrame& frame, JsonWriter& json) const override;

 private:
  void WriteResult(size_t index, double score, JsonWriter& json) const;

  RankAnswer answer_;
  bool raw_scores_;
  size_t count_;                        // of results
  std::vector<std::string> documents_;  // as JSON (AppendJsonText); empty if not wanted
};

}  // namespace skald::server
