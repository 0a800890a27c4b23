/// ApiKeys: who may ask, and whose cache is whose.
///
/// Keys are kept as SHA-256 hashes; a key that comes is hashed and compared with all of them in
/// constant time, so neither the time nor a core dump says what a key is. Who holds a key is a
/// tenant; the namespace of the prefix cache is derived from the tenant here, on the server, and
/// the request's cache_salt can only split it further, never reach another's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::server {

/// The number of a key in the key file, from 0; of everyone if there are no keys.
using TenantId = int64_t;
inline constexpr TenantId kEveryone = -1;

/// Immutable.
class ApiKeys {
 public:
  using Hash = std::array<uint8_t, 32>;

  /// No keys: everyone is let in. `secret`: random bytes that nobody else knows.
  explicit ApiKeys(std::string_view secret);
  /// One key a line; empty lines and lines that begin with '#' are left out. Errors:
  /// kInvalidArgument, no key at all, or one that is not 8 to 512 visible ASCII characters.
  static Result<ApiKeys> Parse(std::string_view lines, std::string_view secret);

  bool empty() const { return hashes_.empty(); }
  size_t size() const { return hashes_.size(); }

  /// Whose key this is; nothing if it is no key, or there are keys and none came. Time depends on
  /// the lengths only.
  std::optional<TenantId> Find(std::string_view key) const;

  /// The namespace of the prefix cache for a tenant and its cache_salt: 64 bits of a SHA-256 over a
  /// secret of this process and both. Who does not know the secret cannot aim for a collision.
  uint64_t CacheNamespace(TenantId tenant, std::string_view salt) const;

 private:
  std::vector<Hash> hashes_;
  Hash secret_;
};

}  // namespace skald::server
