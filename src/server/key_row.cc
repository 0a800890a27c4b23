#include "server/key_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/status_macros.h"
#include "server/generation_request.h"
#include "skald/request.h"

namespace skald::server {

namespace {

constexpr int64_t kMost = 1'000'000'000;
constexpr std::string_view kExpected =
    "expected name=, share=, priority=, running=, waiting=, tokens=, rpm=, tpm= or admin";

// A setting that is a number.
struct NumberSetting {
  std::string_view name;
  int64_t min;
  int64_t max;
  void (*set)(TenantRights& rights, int64_t value);
};

constexpr NumberSetting kNumbers[] = {
    {"share", 1, kMaxTenantShare,
     [](TenantRights& rights, int64_t value) { rights.share = static_cast<int32_t>(value); }},
    {"priority", -kMaxPriority, kMaxPriority,
     [](TenantRights& rights, int64_t value) { rights.priority = value; }},
    {"running", 1, kMost,
     [](TenantRights& rights, int64_t value) { rights.running = static_cast<int32_t>(value); }},
    {"waiting", 1, kMost, [](TenantRights& rights, int64_t value) { rights.waiting = value; }},
    {"tokens", 1, kMost, [](TenantRights& rights, int64_t value) { rights.tokens = value; }},
    {"rpm", 1, kMost,
     [](TenantRights& rights, int64_t value) { rights.requests_per_minute = value; }},
    {"tpm", 1, kMost,
     [](TenantRights& rights, int64_t value) { rights.tokens_per_minute = value; }},
};

Status Bad(std::string message) { return Status(ErrorCode::kInvalidArgument, std::move(message)); }

bool IsVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kTenantNameMaxBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == '@';
         });
}

std::vector<std::string_view> Columns(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> columns;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = end;
  }
  return columns;
}

Status SetNumber(const NumberSetting& setting, std::string_view text, TenantRights& rights) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!is_number || value < setting.min || value > setting.max) {
    return Bad(fmt::format("{} is not a whole number from {} to {}", setting.name, setting.min,
                           setting.max));
  }
  setting.set(rights, value);
  return Ok();
}

// `name` and `value` of one column; "admin" has no value.
Status Set(std::string_view name, std::optional<std::string_view> value, KeyRow& row) {
  if (name == "admin" && !value) {
    row.rights.admin = true;
    return Ok();
  }
  if (name == "name" && value) {
    if (!IsName(*value))
      return Bad(fmt::format("name is not 1 to {} letters, digits, '.', '_', '-' or '@'",
                             kTenantNameMaxBytes));
    row.name = *value;
    return Ok();
  }
  const auto* number = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                    [&](const NumberSetting& each) { return each.name == name; });
  if (number != std::end(kNumbers) && value) return SetNumber(*number, *value, row.rights);
  return Bad(std::string(kExpected));
}

}  // namespace

Result<std::optional<KeyRow>> ReadKeyRow(std::string_view line) {
  const std::vector<std::string_view> columns = Columns(line);
  if (columns.empty() || columns[0].starts_with('#')) return std::optional<KeyRow>();
  KeyRow row = {.key = columns[0], .name = {}, .rights = {}};
  if (row.key.size() < kKeyMinBytes || row.key.size() > kKeyMaxBytes || !IsVisible(row.key)) {
    return Bad(fmt::format("it is not a key of {} to {} visible ASCII characters", kKeyMinBytes,
                           kKeyMaxBytes));
  }
  std::vector<std::string_view> seen;
  for (size_t i = 1; i < columns.size(); ++i) {
    const size_t equals = columns[i].find('=');
    const std::string_view name = columns[i].substr(0, equals);
    const auto value = equals == std::string_view::npos
                           ? std::nullopt
                           : std::optional(columns[i].substr(equals + 1));
    const Status set = Set(name, value, row);
    if (!set.ok()) return Status(set).WithContext("column " + std::to_string(i + 1));
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return Bad(fmt::format("column {}: {} is given twice", i + 1, name));
    seen.push_back(name);
  }
  return std::optional(std::move(row));
}

}  // namespace skald::server
