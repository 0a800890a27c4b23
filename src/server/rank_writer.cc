#include "server/rank_writer.h"

#include <algorithm>
#include <numeric>

#include "base/exact_math.h"
#include "server/answer.h"

namespace skald::server {

double Relevance(float score) { return 1 / (1 + ExactExp(-double{score})); }

RankWriter::RankWriter(RankRequest request)
    : answer_(request.answer),
      raw_scores_(request.raw_scores),
      count_(std::min(request.top, request.documents.size())) {
  if (!request.return_documents) return;
  for (std::string& document : request.documents) {
    std::string json;
    AppendJsonText(document, &json);
    documents_.push_back(std::move(json));
    std::string().swap(document);
  }
}

int64_t RankWriter::bytes() const {
  // Names, brackets, an index and a number of up to 24 characters.
  constexpr int64_t kResult = 96;
  auto bytes = static_cast<int64_t>(count_) * kResult;
  for (const std::string& document : documents_) bytes += static_cast<int64_t>(document.size());
  return bytes;
}

std::string_view RankWriter::opening() const {
  return answer_ == RankAnswer::kScores ? R"({"object":"list","data":)"
                                        : R"({"object":"list","results":)";
}

void RankWriter::WriteResult(size_t index, double score, JsonWriter& json) const {
  json.BeginObject().Key("index").Uint(index);
  if (answer_ == RankAnswer::kScores) {
    json.Key("object").String("score").Key("score").Double(score).EndObject();
    return;
  }
  if (!documents_.empty()) {
    json.Key("document").BeginObject().Key("text").String(documents_[index], {}).EndObject();
  }
  json.Key("relevance_score").Double(score).EndObject();
}

// The best first; of equal ones the earlier. Compared are the scores themselves: relevances near 1
// may be equal where these are not.
std::vector<std::string> RankWriter::List(std::vector<std::vector<float>> vectors) const {
  std::vector<size_t> order(vectors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (answer_ == RankAnswer::kResults) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return vectors[a].front() > vectors[b].front(); });
  }
  order.resize(std::min(order.size(), count_));
  std::vector<std::string> pieces;
  JsonWriter json;
  json.BeginArray();
  for (const size_t index : order) {
    const float score = vectors[index].front();
    WriteResult(index, raw_scores_ ? double{score} : Relevance(score), json);
    if (json.size() >= Answer::kPieceBytes) pieces.push_back(json.TakePart());
  }
  json.EndArray();
  pieces.push_back(json.Take());
  return pieces;
}

void RankWriter::AddMembers(const VectorFrame& frame, JsonWriter& json) const {
  AddModel(frame, json);
  json.Key("id").String(frame.id).Key("created").Int(frame.unix_seconds);
  AddUsage(frame, json);
}

}  // namespace skald::server
