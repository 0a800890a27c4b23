#include "server/tenant_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace skald::server {

namespace {

// Something in flight ends soon, nobody knows when.
constexpr int kSomeSeconds = 1;

ApiError Never(std::string message) {
  return {.status = 400, .message = std::move(message), .code = "limit_of_key"};
}

ApiError NotNow(std::string message, double seconds) {
  return {.status = 429,
          .message = std::move(message),
          .code = "rate_limit_exceeded",
          .retry_seconds = static_cast<int>(std::clamp(std::ceil(seconds), 1.0, 3600.0))};
}

std::optional<ApiError> CheckSequences(const Room& room, int64_t wanted) {
  const TenantRights& rights = room.rights;
  const int64_t has = room.in_flight.sequences;
  if (rights.waiting > 0) {
    const int64_t most =
        (rights.running > 0 ? rights.running : room.places_running) + rights.waiting;
    if (wanted > most)
      return Never(fmt::format("the request has {} sequences, this key may have {} at a time",
                               wanted, most));
    if (has + wanted > most)
      return NotNow(fmt::format("this key has {} sequences in flight and asks for {} more, it may "
                                "have {}",
                                has, wanted, most),
                    kSomeSeconds);
  }
  // Who has nothing is let through: whether there is a place is for the engine to say.
  if (!room.shared || has == 0 || has + wanted <= room.places_free - wanted) return std::nullopt;
  return NotNow(fmt::format("this key has {} sequences in flight and asks for {} more; {} places "
                            "are free, of which it must leave as many as it takes",
                            has, wanted, room.places_free),
                kSomeSeconds);
}

std::optional<ApiError> CheckTokens(const Room& room, int64_t wanted) {
  const TenantRights& rights = room.rights;
  const int64_t most = rights.tokens;
  const int64_t minute = rights.tokens_per_minute;
  for (const int64_t bound : {most, minute}) {
    if (bound > 0 && wanted > bound)
      return Never(
          fmt::format("prompts and answers of the request have up to {} tokens, this key "
                      "may have {}{}: ask for fewer with max_tokens",
                      wanted, bound, bound == minute ? " a minute" : " at a time"));
  }
  if (most > 0 && room.in_flight.tokens + wanted > most)
    return NotNow(fmt::format("this key has {} tokens in flight and asks for up to {} more, it may "
                              "have {}",
                              room.in_flight.tokens, wanted, most),
                  kSomeSeconds);
  const double missing = static_cast<double>(wanted) - room.minute_tokens;
  if (minute == 0 || missing <= 0) return std::nullopt;
  return NotNow(fmt::format("this key may have {} tokens a minute, of which {} are left, and asks "
                            "for up to {}",
                            minute, static_cast<int64_t>(room.minute_tokens), wanted),
                missing * 60 / static_cast<double>(minute));
}

}  // namespace

Load LoadOf(const Request& request, int64_t context) {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (request.pooling != Pooling::kNone) return {.sequences = 1, .tokens = prompt};
  const int64_t rest = std::max<int64_t>(0, context - prompt);
  const int64_t asked = request.stop.max_tokens;
  const int64_t answer = asked < 0 ? rest : std::min(asked, rest);
  return {.sequences = request.width(), .tokens = prompt + request.width() * answer};
}

std::optional<ApiError> Room::Refusal(const Load& load) const {
  if (auto error = CheckSequences(*this, load.sequences)) return error;
  return CheckTokens(*this, load.tokens);
}

TenantAccounts::TenantAccounts(Places places)
    : places_(places), totals_(std::make_shared<Totals>()) {}

void TenantAccounts::SetTenants(const ApiKeys& keys) {
  std::map<TenantId, std::shared_ptr<Account>> accounts;
  for (const auto& tenant : keys.tenants()) {
    const auto had = accounts_.find(tenant->id);
    accounts[tenant->id] = had == accounts_.end() ? std::make_shared<Account>() : had->second;
  }
  accounts_ = std::move(accounts);
  shared_ = accounts_.size() > 1;
}

Room TenantAccounts::RoomOf(const Tenant& tenant, const Account& account, double now) const {
  return {.rights = tenant.rights,
          .in_flight = account.in_flight,
          .shared = shared_,
          .places_running = places_.running,
          .places_free = places_.running + places_.waiting - totals_->sequences,
          .minute_tokens = account.tokens.Level(tenant.rights.tokens_per_minute, now)};
}

std::optional<ApiError> TenantAccounts::CheckHead(const Tenant& tenant, double now) const {
  const auto found = accounts_.find(tenant.id);
  if (found == accounts_.end()) return std::nullopt;
  const Account& account = *found->second;
  const int64_t minute = tenant.rights.requests_per_minute;
  const double seconds = minute > 0 ? account.requests.SecondsUntil(minute, 1, now) : 0;
  if (seconds > 0)
    return NotNow(fmt::format("this key may send {} requests a minute", minute), seconds);
  return RoomOf(tenant, account, now).Refusal({.sequences = 1, .tokens = 1});
}

TenantAccounts::Claim TenantAccounts::Open(const Tenant& tenant, double now) {
  Claim claim;
  claim.tenant_ = tenant;
  claim.accounts_ = this;
  claim.totals_ = totals_;
  std::shared_ptr<Account>& account = accounts_[tenant.id];
  // A key that went while the request was read.
  if (account == nullptr) account = std::make_shared<Account>();
  claim.account_ = account;
  claim.room_ = RoomOf(tenant, *account, now);
  if (tenant.rights.requests_per_minute > 0)
    account->requests.Take(tenant.rights.requests_per_minute, 1, now);
  claim.Add({.sequences = 1});
  return claim;
}

TenantAccounts::Claim& TenantAccounts::Claim::operator=(Claim&& other) noexcept {
  GiveBackAll();
  tenant_ = std::move(other.tenant_);
  room_ = other.room_;
  load_ = std::exchange(other.load_, {});
  accounts_ = other.accounts_;
  totals_ = std::move(other.totals_);
  account_ = std::move(other.account_);
  return *this;
}

void TenantAccounts::Claim::Add(const Load& load) {
  load_.sequences += load.sequences;
  load_.tokens += load.tokens;
  account_->in_flight.sequences += load.sequences;
  account_->in_flight.tokens += load.tokens;
  totals_->sequences += load.sequences;
}

std::optional<ApiError> TenantAccounts::Claim::Take(const Load& load, double now) {
  if (account_ == nullptr) return std::nullopt;
  GiveBackAll();
  if (auto error = accounts_->RoomOf(tenant_, *account_, now).Refusal(load)) return error;
  Add(load);
  const int64_t minute = tenant_.rights.tokens_per_minute;
  if (minute > 0) account_->tokens.Take(minute, static_cast<double>(load.tokens), now);
  return std::nullopt;
}

void TenantAccounts::Claim::GiveBack(const Load& part, int64_t unused, double now) {
  if (account_ == nullptr) return;
  Add({.sequences = -part.sequences, .tokens = -part.tokens});
  const int64_t minute = tenant_.rights.tokens_per_minute;
  if (minute > 0) account_->tokens.Take(minute, -static_cast<double>(unused), now);
}

void TenantAccounts::Claim::GiveBackAll() {
  if (account_ != nullptr) Add({.sequences = -load_.sequences, .tokens = -load_.tokens});
}

}  // namespace skald::server
