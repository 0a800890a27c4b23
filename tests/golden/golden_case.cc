#include "golden/golden_case.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "base/status_macros.h"

namespace skald::golden {
namespace {

Status Malformed(const std::string& path, const std::string& what) {
  return Status(ErrorCode::kIo, "golden data " + path + ": " + what);
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(ErrorCode::kNotFound, "golden data " + path + " is missing");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::vector<float>> ReadFloats(const std::string& path, size_t count) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (bytes.size() != count * sizeof(float)) {
    return Malformed(path, "expected " + std::to_string(count) + " floats, found " +
                               std::to_string(bytes.size()) + " bytes");
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values) {
    if (!std::isfinite(value)) return Malformed(path, "a number is not finite");
  }
  return values;
}

// Throws where the list is no list of tokens.
std::vector<TokenId> Tokens(const boost::json::value& list, int64_t vocab) {
  std::vector<TokenId> tokens;
  for (const boost::json::value& token : list.as_array()) {
    tokens.push_back(token.to_number<TokenId>());
    if (tokens.back() < 0 || tokens.back() >= vocab) throw std::out_of_range("no such token");
  }
  return tokens;
}

// The file whose name one of the keys gives, the first that is there, or nothing.
std::string NamedFile(const boost::json::object& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const boost::json::value* name = json.if_contains(key)) return name->as_string().c_str();
  }
  return "";
}

// The numbers of a case that lie in files of their own.
struct NumberFiles {
  std::string exact;
  std::string long_last;
};

Result<GoldenCase> ReadTokens(const std::string& path, NumberFiles* files) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  GoldenCase result;
  try {
    const boost::json::object json = boost::json::parse(text).as_object();
    files->exact = NamedFile(json, {"exact"});
    files->long_last = NamedFile(json, {"long_exact", "long_last"});
    result.vocab = json.at("vocab").to_number<int64_t>();
    result.tokens = Tokens(json.at("tokens"), result.vocab);
    result.continuation = Tokens(json.at("greedy_next"), result.vocab);
    if (!files->long_last.empty()) {
      result.long_tokens = Tokens(json.at("long_tokens"), result.vocab);
    }
  } catch (const std::exception& error) {
    return Malformed(path, error.what());
  }
  if (result.tokens.empty()) return Malformed(path, "no tokens");
  if (result.continuation.size() != kGreedyTokens) {
    return Malformed(path, "expected " + std::to_string(kGreedyTokens) + " greedy tokens, found " +
                               std::to_string(result.continuation.size()));
  }
  return result;
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

Result<GoldenCase> ReadCase(const GoldenFolders& folders, const std::string& name,
                            Recorded recorded) {
  const std::string stem = folders.numbers + "/" + name;
  NumberFiles files;
  ASSIGN_OR_RETURN(GoldenCase result, ReadTokens(stem + ".json", &files));
  result.model_path = folders.models + "/" + name + ".gguf";
  const size_t count = result.tokens.size() * static_cast<size_t>(result.vocab);
  ASSIGN_OR_RETURN(result.logits, ReadFloats(stem + ".logits.f32", count));
  if (recorded == Recorded::kLogitsAndExact || !files.exact.empty()) {
    ASSIGN_OR_RETURN(result.exact, ReadFloats(stem + ".exact.f32", count));
  }
  if (!files.long_last.empty()) {
    ASSIGN_OR_RETURN(result.long_last, ReadFloats(folders.numbers + "/" + files.long_last,
                                                  static_cast<size_t>(result.vocab)));
  }
  return result;
}

Result<EmbeddingCase> ReadEmbeddingCase(const GoldenFolders& folders, const std::string& name) {
  const std::string stem = folders.numbers + "/" + name;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(stem + ".json"));
  EmbeddingCase result;
  result.model_path = folders.models + "/" + name + ".gguf";
  std::string pooled;
  std::string rows = name + ".logits.f32";
  try {
    const boost::json::object json = boost::json::parse(text).as_object();
    pooled = NamedFile(json, {"pooled"});
    if (const std::string exact = NamedFile(json, {"exact"}); !exact.empty()) rows = exact;
    result.width = json.at("vocab").to_number<int64_t>();
    result.tokens = Tokens(json.at("tokens"), std::numeric_limits<TokenId>::max());
  } catch (const std::exception& error) {
    return Malformed(stem + ".json", error.what());
  }
  const auto width = static_cast<size_t>(result.width);
  ASSIGN_OR_RETURN(result.rows,
                   ReadFloats(folders.numbers + "/" + rows, result.tokens.size() * width));
  ASSIGN_OR_RETURN(result.pooled, ReadFloats(folders.numbers + "/" + pooled, width));
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
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(difference)) return HUGE_VAL;
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace skald::golden
