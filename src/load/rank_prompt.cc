#include "load/rank_prompt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace skald::load {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template.rerank";
constexpr size_t kMaxBytes = size_t{64} << 10;

// Where a placeholder stands.
Result<size_t> FindOnce(std::string_view text, std::string_view placeholder) {
  const size_t at = text.find(placeholder);
  if (at != std::string_view::npos && text.find(placeholder, at + 1) == std::string_view::npos)
    return at;
  return Status(ErrorCode::kBadModel, "key '" + std::string(kKey) + "': expected " +
                                          std::string(placeholder) + " once, found " +
                                          (at == std::string_view::npos ? "none" : "several"));
}

}  // namespace

Result<RankPrompt> RankPrompt::Read(const formats::Metadata& metadata) {
  RankPrompt prompt;
  ASSIGN_OR_RETURN(const std::string_view text, metadata.GetStringOr(kKey, ""));
  if (text.empty()) return prompt;
  if (text.size() > kMaxBytes) {
    return Status(ErrorCode::kBadModel,
                  "key '" + std::string(kKey) + "' has " + std::to_string(text.size()) +
                      " bytes, expected at most " + std::to_string(kMaxBytes));
  }
  constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  ASSIGN_OR_RETURN(const size_t query, FindOnce(text, kQuery));
  ASSIGN_OR_RETURN(const size_t document, FindOnce(text, kDocument));
  prompt.has_template_ = true;
  prompt.document_first_ = document < query;
  const size_t first = std::min(query, document);
  const size_t second = std::max(query, document);
  const size_t first_end = first + (prompt.document_first_ ? kDocument : kQuery).size();
  prompt.before_ = text.substr(0, first);
  prompt.between_ = text.substr(first_end, second - first_end);
  prompt.behind_ = text.substr(second + (prompt.document_first_ ? kQuery : kDocument).size());
  return prompt;
}

Result<PairTokens> RankPrompt::Encode(const Tokenizer& tokenizer, std::string_view query,
                                      std::string_view document, StopCheck stop) const {
  if (query.empty() || document.empty()) {
    return Status(ErrorCode::kInvalidArgument,
                  query.empty() ? "the query is empty" : "the document is empty");
  }
  if (!has_template_) return tokenizer.EncodePair(query, document, stop);
  std::string text;
  std::vector<TextRange> control;
  const auto append = [&](std::string_view part) {
    if (!part.empty()) control.push_back({text.size(), text.size() + part.size()});
    text += part;
  };
  append(before_);
  text += document_first_ ? document : query;
  append(between_);
  text += document_first_ ? query : document;
  append(behind_);
  PairTokens pair;
  ASSIGN_OR_RETURN(pair.tokens, tokenizer.EncodeMixed(text, control, BoundaryTokens::kNone, stop));
  return pair;
}

}  // namespace skald::load
