/// Tenant: who holds a key, and what the key may do. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace skald::server {

/// Names a tenant: the same for as long as the process lives, also when the key file is read again.
/// Not to be guessed from a key.
using TenantId = int64_t;
/// Everyone, where there are no keys.
inline constexpr TenantId kEveryone = 0;

/// What a row of the key file gives (docs/server.md has the table). 0 is no limit of its own.
struct TenantRights {
  int32_t share = 1;  ///< of the engine's work beside others, 1 to kMaxTenantShare
  /// The most urgent `priority` that its requests get, as the API counts it: lower goes first.
  int64_t priority = 0;
  int32_t running = 0;              ///< most sequences that compute at the same time
  int64_t waiting = 0;              ///< most further sequences that wait
  int64_t tokens = 0;               ///< most tokens of prompts and answers in flight
  int64_t requests_per_minute = 0;  ///< in the mean; as many at once
  int64_t tokens_per_minute = 0;    ///< of prompts and answers; as many at once
  bool admin = false;               ///< may see what concerns all: /metrics, all of /slots

  friend bool operator==(const TenantRights&, const TenantRights&) = default;
};

/// See above.
struct Tenant {
  TenantId id = kEveryone;
  std::string name;  ///< for the log; empty: everyone
  TenantRights rights;
};

}  // namespace skald::server
