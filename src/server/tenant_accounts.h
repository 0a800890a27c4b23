/// TenantAccounts: what each tenant has in flight and has had of late, and what more it may have.
///
/// Two kinds of bounds. What a row of the key file says is the tenant's own. Beside it, where there
/// are several tenants, none may take more places of the engine and its queue than it leaves free:
/// one alone gets half of them, two get a third each, and who comes always finds a place ("dynamic
/// thresholds", Choudhury and Hahne 1998). I/O thread only, but for Room, which is a value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "server/api_error.h"
#include "server/api_keys.h"
#include "server/token_bucket.h"
#include "skald/request.h"

namespace skald::server {

/// What a request takes while it is in flight.
struct Load {
  int64_t sequences = 0;
  int64_t tokens = 0;  ///< of its prompts and the most of its answers
};

/// Of one request of the engine, with `context` positions at most.
Load LoadOf(const Request& request, int64_t context);

/// What a tenant may still have, as of a moment: enough to refuse a request on another thread,
/// before work is spent on it.
struct Room {
  TenantRights rights;
  Load in_flight;
  /// Places for sequences of all tenants, and those that are free; no bound where `shared` is not.
  bool shared = false;
  int64_t places_running = 0;
  int64_t places_free = 0;
  double minute_tokens = 0;  ///< left of rights.tokens_per_minute

  /// Why a request of this load is refused: 400 if this tenant can never have it, 429 if not now.
  std::optional<ApiError> Refusal(const Load& load) const;
};

/// See above.
class TenantAccounts {
 public:
  /// Places for sequences, in the engine and in its queue.
  struct Places {
    int64_t running = 0;
    int64_t waiting = 0;
  };
  class Claim;

  explicit TenantAccounts(Places places);

  /// From now on these are the tenants. Who stays keeps what it has.
  void SetTenants(const ApiKeys& keys);

  /// Why nothing of this tenant is even read now: 429, for its rate of requests, or because it has
  /// all that it may have in flight.
  std::optional<ApiError> CheckHead(const Tenant& tenant, double now) const;
  /// A request is being read: it counts for the rate, and until more is known as one sequence.
  Claim Open(const Tenant& tenant, double now);
  /// Sequences in flight, of all.
  int64_t sequences() const { return totals_->sequences; }

 private:
  struct Totals {
    int64_t sequences = 0;
  };
  struct Account {
    Load in_flight;
    TokenBucket requests;
    TokenBucket tokens;
  };

  Room RoomOf(const Tenant& tenant, const Account& account, double now) const;

  const Places places_;
  bool shared_ = false;
  std::shared_ptr<Totals> totals_;
  // Shared with claims, which may outlive the accounts.
  std::map<TenantId, std::shared_ptr<Account>> accounts_;
};

/// What one request has. Gives it back when it ends.
class TenantAccounts::Claim {
 public:
  Claim() = default;
  Claim(Claim&&) noexcept = default;
  Claim& operator=(Claim&& other) noexcept;
  ~Claim() { GiveBackAll(); }

  /// As of Open.
  const Room& room() const { return room_; }
  /// Takes what the request really needs instead of the one sequence, or says why not.
  std::optional<ApiError> Take(const Load& load, double now);
  /// A part has ended. Of its tokens `unused` were never computed: they do not count for the rate.
  void GiveBack(const Load& part, int64_t unused, double now);

 private:
  friend class TenantAccounts;
  void GiveBackAll();
  void Add(const Load& load);

  Tenant tenant_;
  Room room_;
  Load load_;
  const TenantAccounts* accounts_ = nullptr;  // for Take only: I/O thread, while they live
  std::shared_ptr<Totals> totals_;
  std::shared_ptr<Account> account_;
};

}  // namespace skald::server
