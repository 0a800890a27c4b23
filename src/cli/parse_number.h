/// Strict numbers: the whole text is the number, or it is an error.
///
/// "5x", " 5", "+5", "0x5", "1e3" (for an integer), "nan" and "inf" are refused: a typing error in
/// a flag must not become a quietly different run.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <limits>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"

namespace skald::cli {

/// The values a flag takes, both ends included.
template <typename T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

/// `text` as a decimal integer in `range`. Errors: kInvalidArgument with the text and the range.
template <std::integral T>
Result<T> ParseInt(std::string_view text, Range<T> range = {}) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!is_number)
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a whole number", text));
  if (error == std::errc::result_out_of_range || value < range.min || value > range.max)
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("{} is out of range, expected {} to {}", text, range.min, range.max));
  return value;
}

/// "1073741824", "512K", "512M" or "2G" (powers of 1024) as a number of bytes, at most `max`.
/// Errors: kInvalidArgument with the text and what is possible.
Result<int64_t> ParseBytes(std::string_view text, int64_t max);

/// `text` as a finite decimal number. Errors: kInvalidArgument.
Result<double> ParseDouble(std::string_view text);

/// "1,2,3" (spaces and newlines may stand between and around the numbers instead of or beside the
/// commas) as integers in `range`. Errors: kInvalidArgument, naming the entry, also for an empty
/// list.
Result<std::vector<int64_t>> ParseIntList(std::string_view text, Range<int64_t> range);

/// ParseIntList for token ids. Whether the vocabulary has them is checked where it is known.
Result<std::vector<TokenId>> ParseTokenIds(std::string_view text);

}  // namespace skald::cli
