/// Fields: takes the members of a JSON object one by one, each with its type and range.
///
///     Fields fields(object);
///     const std::optional<int64_t> n = fields.Int("n", {1, kMaxChoices});
///     ...
///     if (fields.error()) return *fields.error();
///
/// A member that is missing or null is std::nullopt. One that is wrong is an error that names it,
/// what was found and what was expected; the first error stays. So the reader of a request is a
/// list of what a request may hold, and what nobody asked for is left over.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"

namespace skald::server {

/// Both ends included.
template <typename T>
struct Between {
  T min;
  T max;
};

/// "true", "4.5", "'yes'", "an array": what stands there, short enough for a message.
std::string Shown(const boost::json::value& value);
/// "'yes'", or how long it is.
std::string ShownText(std::string_view text);

/// What a client sends that does not want a feature: null, false, "", [], {}.
bool SaysNo(const boost::json::value& value);
/// The same where a schema may stand: the empty object is one, of any JSON.
bool SaysNoSchema(const boost::json::value& value);

/// 400: `where` is what was found (nullptr: missing), and should be something else.
ApiError WrongMember(std::string_view where, const boost::json::value* found,
                     std::string_view expected);

/// Members of a body: each is compared with all known names.
inline constexpr size_t kMaxMembers = 256;

/// The object that a body must be, of at most kMaxMembers; it must outlive what is returned.
/// Errors: 400.
OrError<const boost::json::object*> AsObject(const boost::json::value& body);

/// See above. The object must outlive it.
class Fields {
 public:
  explicit Fields(const boost::json::object& object) : object_(object) {}

  std::optional<int64_t> Int(std::string_view name, Between<int64_t> range);
  std::optional<double> Number(std::string_view name, Between<double> range);
  std::optional<bool> Bool(std::string_view name);
  /// A string of at most `max_bytes`.
  std::optional<std::string> Text(std::string_view name, size_t max_bytes);
  /// The member as it is, or nullptr.
  const boost::json::value* Any(std::string_view name);
  /// Known, and of no consequence.
  void Ignore(std::string_view name) { asked_.push_back(name); }
  bool IsAsked(std::string_view name) const;
  /// Known, and not to be had: an error if it is there, unless it SaysNo.
  void Refuse(std::string_view name);
  const boost::json::object& object() const { return object_; }

  void Fail(ApiError error);
  const std::optional<ApiError>& error() const { return error_; }

  /// The names nobody asked for, in their order.
  std::vector<std::string> Left() const;

 private:
  void Mismatch(std::string_view name, const boost::json::value& found, std::string expected);

  const boost::json::object& object_;
  std::vector<std::string_view> asked_;
  std::optional<ApiError> error_;
};

}  // namespace skald::server
