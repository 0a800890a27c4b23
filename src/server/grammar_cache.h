/// GrammarCache: what bodies ask of their answers, compiled once for each tenant.
///
/// What a tenant sent can be felt in the time of a later request with the same grammar: so nothing
/// is shared among tenants. Refusals are kept as successes are.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/answer_source.h"
#include "server/api_error.h"
#include "server/tenant.h"
#include "skald/constraint.h"
#include "skald/stop_check.h"
#include "skald/tokenizer.h"

namespace skald::server {

struct CompiledGrammar {
  /// None: a lenient source that cannot be kept.
  std::optional<Constraint> constraint = {};
  /// What is not kept: of a relaxed schema Grammar::left_out, of tools JSON pointers.
  std::vector<std::string> left_out = {};
};

/// A refusal is 400 with the place in the body as a JSON pointer. Shared: one that was thrown out
/// lives on in the requests that use it.
using GrammarOutcome = std::shared_ptr<const OrError<CompiledGrammar>>;

/// See above. Thread-safe.
class GrammarCache {
 public:
  /// Memory of what is kept for a tenant; what was not used for longest goes first.
  static constexpr int64_t kTenantBytes = int64_t{64} << 20;
  /// And of them at most so many, which are looked through.
  static constexpr int64_t kTenantGrammars = 512;

  explicit GrammarCache(const Tokenizer& tokenizer);

  /// Null if it was not compiled for this tenant, or is no longer there.
  GrammarOutcome Find(TenantId tenant, const GrammarKey& key);
  /// Compiles, whatever is there. `key` is that of `source`: who looked for it has it. Bounded in
  /// steps: mostly some ms, at worst some 100. What `stop` ended is not kept, and means nothing.
  GrammarOutcome Compile(TenantId tenant, const GrammarKey& key, const AnswerSource& source,
                         StopCheck stop);

 private:
  struct Kept {
    GrammarKey key;
    GrammarOutcome outcome;
  };
  using Tenants = std::map<TenantId, std::list<Kept>>;  // the last used first

  const Vocabulary vocabulary_;
  std::mutex mutex_;
  Tenants tenants_;
};

}  // namespace skald::server
