#include "cli/parse_number.h"

#include <cmath>
#include <utility>

#include "base/status_macros.h"

namespace skald::cli {

Result<int64_t> ParseBytes(std::string_view text, int64_t max) {
  constexpr std::string_view kUnits = "KMG";
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const int shift = has_unit ? 10 * (static_cast<int>(unit) + 1) : 0;
  const std::string_view digits = has_unit ? text.substr(0, text.size() - 1) : text;
  Result<int64_t> number = ParseInt<int64_t>(digits, {0, max >> shift});
  if (number.ok()) return *number << shift;
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a size, expected bytes, or a whole number with K, M or G, "
                            "of at most {} bytes",
                            text, max));
}

Result<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a finite number", text));
  return value;
}

Result<std::vector<int64_t>> ParseIntList(std::string_view text, Range<int64_t> range) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<int64_t> numbers;
  bool after_comma = true;  // also at the start: a comma there has nothing before it
  while (true) {
    const size_t start = text.find_first_not_of(kSpace);
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    if (text.front() == ',') {
      if (after_comma) break;
      after_comma = true;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view entry = text.substr(0, text.find_first_of(" \t\r\n,"));
    ASSIGN_OR_RETURN(const int64_t number, ParseInt<int64_t>(entry, range));
    numbers.push_back(number);
    after_comma = false;
    text.remove_prefix(entry.size());
  }
  if (after_comma)
    return Status(ErrorCode::kInvalidArgument,
                  "expected numbers separated by commas, found an empty entry");
  return numbers;
}

Result<std::vector<TokenId>> ParseTokenIds(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                   ParseIntList(text, {0, std::numeric_limits<TokenId>::max()}));
  return std::vector<TokenId>(numbers.begin(), numbers.end());
}

}  // namespace skald::cli
