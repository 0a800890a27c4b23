#include "server/json_reader.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace skald::server {

namespace {

namespace json = boost::json;

// An object of up to so many members has no table: names are compared one by one. As Boost's.
constexpr size_t kWithoutTable = 18;
// What a look at one entry of a chain costs, in bytes compared.
constexpr size_t kEntryCost = 16;

// Receives what basic_parser reads. The signatures are Boost's.
class Builder {
 public:
  static constexpr size_t max_object_size = kJsonValues;
  static constexpr size_t max_array_size = kJsonValues;
  static constexpr size_t max_key_size = size_t{1} << 16;
  static constexpr size_t max_string_size = size_t{1} << 30;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(size_t count, json::error_code& ec) {
    stack_.push_array(count);
    return Count(ec);
  }
  bool on_object_begin(json::error_code&) {
    names_.emplace_back();
    return true;
  }
  bool on_object_end(size_t count, json::error_code& ec) {
    std::vector<std::string> names = std::move(names_.back());
    names_.pop_back();
    if (!CountComparisons(names, ec)) return false;
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      return Fail("the name '" + *twice + "' stands twice in an object", ec);
    stack_.push_object(count);
    return Count(ec);
  }
  bool on_string_part(json::string_view part, size_t, json::error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, size_t, json::error_code& ec) {
    stack_.push_string(part);
    return Count(ec);
  }
  bool on_key_part(json::string_view part, size_t, json::error_code&) {
    name_.append(part.data(), part.size());
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, size_t, json::error_code& ec) {
    name_.append(part.data(), part.size());
    if (names_.back().size() == kJsonNames)
      return Fail("an object has more than " + std::to_string(kJsonNames) + " names", ec);
    names_.back().push_back(std::exchange(name_, {}));
    stack_.push_key(part);
    return true;
  }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(int64_t number, json::string_view, json::error_code& ec) {
    stack_.push_int64(number);
    return Count(ec);
  }
  bool on_uint64(uint64_t number, json::string_view, json::error_code& ec) {
    stack_.push_uint64(number);
    return Count(ec);
  }
  bool on_double(double number, json::string_view, json::error_code& ec) {
    if (!std::isfinite(number)) return Fail("a number is out of range", ec);
    stack_.push_double(number);
    return Count(ec);
  }
  bool on_bool(bool value, json::error_code& ec) {
    stack_.push_bool(value);
    return Count(ec);
  }
  bool on_null(json::error_code& ec) {
    stack_.push_null();
    return Count(ec);
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  json::value_stack& stack() { return stack_; }
  const std::string& problem() const { return problem_; }

 private:
  bool Count(json::error_code& ec) {
    if (++values_ <= kJsonValues) return true;
    return Fail("there are more than " + std::to_string(kJsonValues) + " values", ec);
  }
  // As if all names of an object fell into one chain of its table: its hash has no secret, so a
  // client can make them do so.
  bool CountComparisons(const std::vector<std::string>& names, json::error_code& ec) {
    if (names.size() <= kWithoutTable) return true;
    size_t bytes = 0;
    for (const std::string& name : names) bytes += name.size() + kEntryCost;
    comparisons_ += names.size() * bytes;
    if (comparisons_ <= kJsonComparisons) return true;
    return Fail("its objects have too many names, or too long ones", ec);
  }
  bool Fail(std::string problem, json::error_code& ec) {
    problem_ = std::move(problem);
    ec = json::make_error_code(json::error::array_too_large);  // any error ends the parse
    return false;
  }

  json::value_stack stack_;
  std::vector<std::vector<std::string>> names_;  // of the objects that are open
  std::string name_;
  size_t values_ = 0;
  size_t comparisons_ = 0;  // bytes
  std::string problem_;
};

// What Boost found, in our words.
std::string Problem(const json::error_code& ec) {
  if (ec == json::error::incomplete) return "it ends before it is complete";
  if (ec == json::error::too_deep)
    return "it is nested deeper than " + std::to_string(kJsonDepth) + " levels";
  if (ec == json::error::illegal_leading_surrogate || ec == json::error::illegal_trailing_surrogate)
    return "a \\u escape is half of a surrogate pair";
  if (ec == json::error::extra_data) return "something follows the value";
  return "it is not well-formed, or not UTF-8";
}

}  // namespace

OrError<boost::json::value> ReadJson(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonDepth;
  json::basic_parser<Builder> parser(options);
  parser.handler().stack().reset();
  json::error_code ec;
  const size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = json::make_error_code(json::error::extra_data);
  if (ec) {
    const std::string& own = parser.handler().problem();
    return BadRequest({}, "the body is not a JSON document that is taken, at byte " +
                              std::to_string(read) + ": " + (own.empty() ? Problem(ec) : own));
  }
  return parser.handler().stack().release();
}

}  // namespace skald::server
