#include "server/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr size_t kShownMax = 40;

}  // namespace

std::string ShownText(std::string_view text) {
  if (text.size() <= kShownMax) return fmt::format("'{}'", text);
  return fmt::format("a string of {} bytes", text.size());
}

bool SaysNo(const json::value& value) {
  return value.is_null() || (value.is_bool() && !value.get_bool()) ||
         (value.is_string() && value.get_string().empty()) ||
         (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty());
}

bool SaysNoSchema(const json::value& value) { return SaysNo(value) && !value.is_object(); }

std::string Shown(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64: return std::to_string(value.get_int64());
    case json::kind::uint64: return std::to_string(value.get_uint64());
    case json::kind::double_: return fmt::format("{}", value.get_double());
    case json::kind::string: return ShownText(value.get_string());
    case json::kind::array: return "an array";
    case json::kind::object: return "an object";
  }
  return "something";
}

ApiError WrongMember(std::string_view where, const json::value* found, std::string_view expected) {
  return BadRequest(std::string(where),
                    fmt::format("{} is {}, expected {}", where,
                                found == nullptr ? "missing" : Shown(*found), expected));
}

OrError<const json::object*> AsObject(const json::value& body) {
  const json::object* object = body.if_object();
  if (object == nullptr)
    return BadRequest({}, fmt::format("the body is {}, expected an object", Shown(body)));
  if (object->size() <= kMaxMembers) return object;
  return BadRequest(
      {}, fmt::format("the body has {} members, expected at most {}", object->size(), kMaxMembers));
}

const json::value* Fields::Any(std::string_view name) {
  asked_.push_back(name);
  const json::value* found = object_.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void Fields::Fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void Fields::Mismatch(std::string_view name, const json::value& found, std::string expected) {
  Fail(BadRequest(std::string(name),
                  fmt::format("{} is {}, expected {}", name, Shown(found), expected)));
}

std::optional<int64_t> Fields::Int(std::string_view name, Between<int64_t> range) {
  const json::value* found = Any(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_int64() && found->get_int64() >= range.min && found->get_int64() <= range.max)
    return found->get_int64();
  Mismatch(name, *found, fmt::format("a whole number from {} to {}", range.min, range.max));
  return std::nullopt;
}

std::optional<double> Fields::Number(std::string_view name, Between<double> range) {
  const json::value* found = Any(name);
  if (found == nullptr) return std::nullopt;
  std::optional<double> number;
  if (found->is_double()) number = found->get_double();
  if (found->is_int64()) number = static_cast<double>(found->get_int64());
  if (number && *number >= range.min && *number <= range.max) return number;  // false for NaN
  Mismatch(name, *found, fmt::format("a number from {} to {}", range.min, range.max));
  return std::nullopt;
}

std::optional<bool> Fields::Bool(std::string_view name) {
  const json::value* found = Any(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_bool()) return found->get_bool();
  Mismatch(name, *found, "true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::Text(std::string_view name, size_t max_bytes) {
  const json::value* found = Any(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_string() && found->get_string().size() <= max_bytes)
    return std::string(found->get_string());
  Mismatch(name, *found, fmt::format("a string of at most {} bytes", max_bytes));
  return std::nullopt;
}

void Fields::Refuse(std::string_view name) {
  const json::value* found = Any(name);
  if (found == nullptr || SaysNo(*found)) return;
  Fail(Unsupported(std::string(name), fmt::format("{} is not supported by this server", name)));
}

bool Fields::IsAsked(std::string_view name) const {
  return std::find(asked_.begin(), asked_.end(), name) != asked_.end();
}

std::vector<std::string> Fields::Left() const {
  std::vector<std::string> left;
  for (const auto& member : object_) {
    if (!IsAsked(member.key())) left.emplace_back(member.key());
  }
  return left;
}

}  // namespace skald::server
