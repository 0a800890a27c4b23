#include "golden/golden_case.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/status_macros.h"

namespace skald::golden {
namespace {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status(ErrorCode::kNotFound,
                  "golden data missing: " + path + " (expected beside the checkout)");
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::vector<float>> ReadFloats(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::vector<TokenId> Tokens(const boost::json::value& list) {
  std::vector<TokenId> tokens;
  for (const boost::json::value& token : list.as_array()) {
    tokens.push_back(token.to_number<TokenId>());
  }
  return tokens;
}

// log softmax of one row, in double.
std::vector<double> LogSoftmax(const float* row, int64_t vocab) {
  const double largest = *std::max_element(row, row + vocab);
  double sum = 0;
  for (int64_t i = 0; i < vocab; ++i) sum += std::exp(row[i] - largest);
  std::vector<double> result;
  for (int64_t i = 0; i < vocab; ++i) result.push_back(row[i] - largest - std::log(sum));
  return result;
}

}  // namespace

std::string GoldenFolder() { return std::string(SKALD_SOURCE_DIR) + "/../shared/golden/"; }

Result<GoldenCase> ReadCase(const std::string& name) {
  const std::string stem = GoldenFolder() + name;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(stem + ".json"));
  boost::json::error_code error;
  const boost::json::value json = boost::json::parse(text, error);
  if (error) return Status(ErrorCode::kIo, stem + ".json: " + error.message());
  GoldenCase result;
  result.model_path = stem + ".gguf";
  result.vocab = json.at("vocab").to_number<int64_t>();
  result.tokens = Tokens(json.at("tokens"));
  result.continuation = Tokens(json.at("greedy_next"));
  ASSIGN_OR_RETURN(result.logits, ReadFloats(stem + ".logits.f32"));
  Result<std::vector<float>> exact = ReadFloats(stem + ".exact.f32");
  if (exact.ok()) result.exact = *std::move(exact);
  return result;
}

double MeanKl(const std::vector<float>& exact, const std::vector<float>& other, int64_t vocab) {
  const auto rows = static_cast<int64_t>(exact.size()) / vocab;
  double total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto p = LogSoftmax(exact.data() + row * vocab, vocab);
    const auto q = LogSoftmax(other.data() + row * vocab, vocab);
    for (size_t i = 0; i < p.size(); ++i) total += std::exp(p[i]) * (p[i] - q[i]);
  }
  return total / static_cast<double>(rows);
}

double MaxDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

}  // namespace skald::golden
