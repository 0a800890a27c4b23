/// KeyRow: one line of a key file.
///
///     sk-0123456789abcdef  name=alice share=2 priority=-10 running=8 waiting=64 tokens=50000
///     sk-of-the-dashboard  name=prometheus admin
///
/// A key, and then any of its settings in any order; a line with a key alone is one of the old
/// files, whose keys have no names and no limits. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/tenant.h"
#include "skald/status.h"

namespace skald::server {

inline constexpr size_t kKeyMinBytes = 8;
inline constexpr size_t kKeyMaxBytes = 512;
inline constexpr size_t kTenantNameMaxBytes = 64;

/// See above.
struct KeyRow {
  std::string_view key;
  std::string name;  ///< empty if it has none
  TenantRights rights;
};

/// The row, whose key points into `line`; nothing for an empty line and a remark ('#'). Errors:
/// kInvalidArgument, as of ApiKeys::Parse, without the number of the line. No message holds a word
/// that could be part of a key.
Result<std::optional<KeyRow>> ReadKeyRow(std::string_view line);

}  // namespace skald::server
