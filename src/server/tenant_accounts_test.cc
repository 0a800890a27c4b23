#include "server/tenant_accounts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skald::server {
namespace {

ApiKeys Keys(std::string_view lines) { return *ApiKeys::Parse(lines, "0123456789abcdef"); }

// Accounts of the tenants "alice" (key key-of-alice) and "bob".
class Accounts {
 public:
  Accounts(std::string_view alice, TenantAccounts::Places places) : accounts_(places) {
    SetTenants(alice);
  }
  void SetTenants(std::string_view alice) {
    keys_ = Keys("key-of-alice name=alice " + std::string(alice) + "\nkey-of-bob name=bob\n");
    accounts_.SetTenants(keys_);
  }
  const Tenant& alice() const { return *keys_.Find("key-of-alice"); }
  const Tenant& bob() const { return *keys_.Find("key-of-bob"); }
  TenantAccounts& operator*() { return accounts_; }
  TenantAccounts* operator->() { return &accounts_; }

  // The status of a request's refusal, or 0 and it stays in flight.
  int Ask(const Tenant& tenant, const Load& load, double now = 0) {
    TenantAccounts::Claim claim = accounts_.Open(tenant, now);
    const auto error = claim.Take(load, now);
    if (error) return error->status;
    claims_.push_back(std::move(claim));
    return 0;
  }
  void EndAll() { claims_.clear(); }
  TenantAccounts::Claim& last() { return claims_.back(); }

 private:
  ApiKeys keys_ = ApiKeys("x");
  TenantAccounts accounts_;
  std::vector<TenantAccounts::Claim> claims_;
};

TEST(TenantAccounts, BoundsTheSequencesOfAKeyInFlight) {
  Accounts accounts("running=4 waiting=6", {.running = 100, .waiting = 1000});
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 11}), 400) << "it can never run";
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 6}), 0);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 5}), 429);
  EXPECT_EQ(accounts->CheckHead(accounts.alice(), 0), std::nullopt);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 4}), 0);
  ASSERT_TRUE(accounts->CheckHead(accounts.alice(), 0).has_value()) << "before its body is read";
  EXPECT_EQ(accounts->CheckHead(accounts.alice(), 0)->status, 429);
  EXPECT_EQ(accounts->CheckHead(accounts.bob(), 0), std::nullopt);
  EXPECT_EQ(accounts.Ask(accounts.bob(), {.sequences = 40}), 0);
  EXPECT_EQ(accounts->sequences(), 50);
  accounts.EndAll();
  EXPECT_EQ(accounts->sequences(), 0);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 10}), 0);
}

// One that is being read counts: a thousand bodies at once are a thousand.
TEST(TenantAccounts, CountsARequestThatIsBeingRead) {
  Accounts accounts("running=1 waiting=2", {.running = 100, .waiting = 1000});
  std::vector<TenantAccounts::Claim> read;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(accounts->CheckHead(accounts.alice(), 0), std::nullopt);
    read.push_back(accounts->Open(accounts.alice(), 0));
  }
  EXPECT_TRUE(accounts->CheckHead(accounts.alice(), 0).has_value());
  read.clear();
  EXPECT_EQ(accounts->CheckHead(accounts.alice(), 0), std::nullopt);
}

TEST(TenantAccounts, LeavesPlacesToOthers) {
  Accounts accounts("", {.running = 16, .waiting = 84});
  int64_t taken = 0;
  while (accounts.Ask(accounts.alice(), {.sequences = 5}) == 0) taken += 5;
  EXPECT_EQ(taken, 50) << "half of them";
  taken = 0;
  while (accounts.Ask(accounts.bob(), {.sequences = 5}) == 0) taken += 5;
  EXPECT_EQ(taken, 25) << "half of the rest";
  // Nobody is kept out who has nothing.
  accounts.EndAll();
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 100}), 0);
  EXPECT_EQ(accounts.Ask(accounts.bob(), {.sequences = 1}), 0);
}

TEST(TenantAccounts, LeavesNothingFreeForNobody) {
  const ApiKeys one = Keys("the-only-key\n");
  TenantAccounts accounts({.running = 4, .waiting = 16});
  accounts.SetTenants(one);
  const Tenant& tenant = *one.Find("the-only-key");
  std::vector<TenantAccounts::Claim> claims;
  for (int i = 0; i < 100; ++i) {
    claims.push_back(accounts.Open(tenant, 0));
    EXPECT_EQ(claims.back().Take({.sequences = 1}, 0), std::nullopt) << "the engine says no";
  }
}

TEST(TenantAccounts, BoundsTheTokensOfAKeyInFlight) {
  Accounts accounts("tokens=1000", {.running = 100, .waiting = 1000});
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 1001}), 400);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 600}), 0);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 401}), 429);
  // A part of the first has ended.
  accounts.last().GiveBack({.sequences = 0, .tokens = 1}, 0, 0);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 401}), 0);
  EXPECT_EQ(accounts->CheckHead(accounts.alice(), 0)->status, 429);
}

TEST(TenantAccounts, LimitsTheRateOfRequests) {
  Accounts accounts("rpm=30", {.running = 100, .waiting = 10'000});
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(accounts->CheckHead(accounts.alice(), 100), std::nullopt) << i;
    accounts->Open(accounts.alice(), 100);
  }
  const auto refused = accounts->CheckHead(accounts.alice(), 100);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->retry_seconds, 2);
  EXPECT_NE(refused->message.find("30 requests a minute"), std::string::npos);
  EXPECT_EQ(accounts->CheckHead(accounts.bob(), 100), std::nullopt);
  EXPECT_TRUE(accounts->CheckHead(accounts.alice(), 101.9).has_value());
  EXPECT_EQ(accounts->CheckHead(accounts.alice(), 102.1), std::nullopt);
  accounts->Open(accounts.alice(), 102.1);
  EXPECT_TRUE(accounts->CheckHead(accounts.alice(), 102.1).has_value());
  // No more than a minute's worth is saved up.
  int taken = 0;
  for (; !accounts->CheckHead(accounts.alice(), 1e6); ++taken)
    accounts->Open(accounts.alice(), 1e6);
  EXPECT_EQ(taken, 30);
}

TEST(TenantAccounts, LimitsTheRateOfTokensAndGivesBackWhatWasNotComputed) {
  Accounts accounts("tpm=600", {.running = 100, .waiting = 1000});
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 601}, 5), 400);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 500}, 5), 0);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 200}, 5), 429);
  accounts.last().GiveBack({.sequences = 1, .tokens = 500}, 150, 5);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 251}, 5), 429);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 250}, 5), 0);
  // 10 a second.
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 101}, 15), 429);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1, .tokens = 100}, 15.001), 0);
}

TEST(TenantAccounts, KeepsWhatATenantHasWhenItsRowChanges) {
  Accounts accounts("rpm=2 running=1 waiting=1", {.running = 100, .waiting = 1000});
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 2}), 0);
  accounts.SetTenants("rpm=2 running=1 waiting=2");
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 2}), 429);
  EXPECT_EQ(accounts.Ask(accounts.alice(), {.sequences = 1}), 0);
  accounts.EndAll();
  EXPECT_EQ(accounts->sequences(), 0);
  EXPECT_TRUE(accounts->CheckHead(accounts.alice(), 0).has_value()) << "both requests are spent";
}

TEST(TenantAccounts, LetsClaimsOutliveIt) {
  std::optional<TenantAccounts::Claim> claim;
  {
    Accounts accounts("", {.running = 1, .waiting = 1});
    claim = accounts->Open(accounts.alice(), 0);
  }
  claim->GiveBack({.sequences = 1}, 0, 0);
  claim.reset();
}

TEST(LoadOf, CountsSequencesAndTheMostTokens) {
  Request request = {.prompt = std::vector<TokenId>(10), .n = 3};
  request.stop.max_tokens = 5;
  EXPECT_EQ(LoadOf(request, 100).sequences, 3);
  EXPECT_EQ(LoadOf(request, 100).tokens, 25);
  request.best_of = 4;
  EXPECT_EQ(LoadOf(request, 100).sequences, 4);
  request.stop.max_tokens = -1;
  EXPECT_EQ(LoadOf(request, 100).tokens, 10 + 4 * 90);
  request.stop.max_tokens = 1'000'000'000;
  EXPECT_EQ(LoadOf(request, 100).tokens, 10 + 4 * 90);
  EXPECT_EQ(LoadOf({.prompt = std::vector<TokenId>(10), .pooling = Pooling::kLast}, 100).tokens,
            10);
}

}  // namespace
}  // namespace skald::server
