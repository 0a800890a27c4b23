/// What the console is told, as JSON: pure functions of what an engine looks like and who watches.
///
/// The rules are those of /slots: of requests a key sees its own, with the right admin all of them,
/// and what concerns all (the step, the pool, counters) only with that right. Text of the prefix
/// tree is for the key that owns it, whatever its rights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/api_keys.h"
#include "server/tenant.h"
#include "skald/bench.h"
#include "skald/engine_view.h"
#include "skald/tokenizer.h"

namespace skald::server {

/// Whose the namespaces of the prefix cache are, as far as that can be told.
class NamespaceOwners {
 public:
  explicit NamespaceOwners(std::shared_ptr<const ApiKeys> keys);

  /// Whether `tenant` may read what stands in a namespace. Without keys everything is everyone's.
  /// With keys what a cache_salt has split off is nobody's: no one can tell whose it is.
  bool MayRead(const Tenant& tenant, uint64_t space) const;
  /// The name of its owner: empty for everyone's, "salted" where it cannot be told.
  std::string_view NameOf(uint64_t space) const;
  /// The name of a tenant; empty for everyone, and of one that is no more.
  std::string_view NameOf(TenantId tenant) const;

 private:
  std::shared_ptr<const ApiKeys> keys_;
  std::unordered_map<uint64_t, const Tenant*> owners_;
  std::unordered_map<TenantId, const Tenant*> tenants_;
};

/// What all parts are made from.
struct ConsoleInput {
  const EngineLook& look;  ///< with a view
  const NamespaceOwners& owners;
  const Tokenizer& tokenizer;
  BenchWork work = {};       ///< of the step
  BenchWork last_work = {};  ///< of the one before
  std::optional<Ceilings> ceilings = {};
};

/// The step: what it computes, since when, and the least time that it can take. For admins.
std::string StepJson(const ConsoleInput& input);
/// Counters, state and histograms of times. For admins.
std::string StatsJson(const ConsoleInput& input);
/// The pool: runs of equal cells. For admins.
std::string PagesJson(const ConsoleInput& input);
/// Requests that `viewer` may see.
std::string RequestsJson(const ConsoleInput& input, const Tenant& viewer);
/// The prefix tree: of an admin all of it, else what `viewer` owns; texts only of that.
std::string TreeJson(const ConsoleInput& input, const Tenant& viewer);

}  // namespace skald::server
