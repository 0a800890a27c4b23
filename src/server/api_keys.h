/// ApiKeys: who may ask, and whose cache is whose.
///
/// Keys are kept as SHA-256 hashes; a key that comes is hashed and compared with all of them in
/// constant time, so neither the time nor a core dump says what a key is. Who holds a key is a
/// tenant; the namespace of the prefix cache is derived from the tenant here, on the server, and
/// the request's cache_salt can only split it further, never reach another's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/key_row.h"
#include "server/tenant.h"
#include "skald/status.h"

namespace skald::server {

/// Immutable.
class ApiKeys {
 public:
  using Hash = std::array<uint8_t, 32>;

  /// No keys: everyone is let in, and may do everything. `secret`: random bytes that nobody else
  /// knows.
  explicit ApiKeys(std::string_view secret);
  /// One key a line, and what it may do: `KEY name=alice share=2 running=8 admin` (docs/server.md).
  /// Empty lines and lines that begin with '#' are left out. Keys of one name are one tenant. The
  /// same file and secret give the same tenants, and a key or name keeps its tenant when other
  /// lines come and go. Errors: kInvalidArgument with the number of the line, never with a word of
  /// a key: no key at all, or one that is not 8 to 512 visible ASCII characters; a setting that is
  /// none, out of range or given twice; two rows of one key or name that differ.
  static Result<ApiKeys> Parse(std::string_view lines, std::string_view secret);

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  const std::vector<std::shared_ptr<const Tenant>>& tenants() const { return tenants_; }

  /// Whose key this is; null if it is no key, or there are keys and none came. Time depends on the
  /// lengths only.
  std::shared_ptr<const Tenant> Find(std::string_view key) const;

  /// The namespace of the prefix cache for a tenant and its cache_salt: 64 bits of a SHA-256 over a
  /// secret of this process and both. Who does not know the secret cannot aim for a collision.
  uint64_t CacheNamespace(TenantId tenant, std::string_view salt) const;

 private:
  struct Key {
    Hash hash;
    size_t tenant;  // in tenants_
  };

  /// The first 64 bits of a SHA-256 over the secret, `purpose` and `bytes`.
  uint64_t Derive(char purpose, std::string_view bytes) const;
  Status Add(const KeyRow& row, int64_t line);

  std::vector<Key> keys_;
  std::vector<std::shared_ptr<const Tenant>> tenants_;
  Hash secret_;
};

}  // namespace skald::server
