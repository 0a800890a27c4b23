#include "server/grammar_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "server/compile_answer.h"

namespace skald::server {

namespace {

// Of an entry beside its grammar.
constexpr int64_t kEntryBytes = 512;

int64_t BytesOf(const OrError<CompiledGrammar>& outcome) {
  if (const auto* error = std::get_if<ApiError>(&outcome))
    return kEntryBytes + static_cast<int64_t>(error->message.size() + error->param.size());
  const auto& compiled = std::get<CompiledGrammar>(outcome);
  int64_t bytes = kEntryBytes;
  if (compiled.constraint) bytes += compiled.constraint->memory_bytes();
  for (const std::string& pointer : compiled.left_out)
    bytes += static_cast<int64_t>(sizeof(pointer) + pointer.size());
  return bytes;
}

}  // namespace

GrammarCache::GrammarCache(const Tokenizer& tokenizer)
    : vocabulary_(Vocabulary::FromTokenizer(tokenizer)) {}

GrammarOutcome GrammarCache::Find(TenantId tenant, const GrammarKey& key) {
  const std::lock_guard lock(mutex_);
  std::list<Kept>& kept = tenants_[tenant];
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& each) { return each.key == key; });
  if (found == kept.end()) return nullptr;
  kept.splice(kept.begin(), kept, found);
  return found->outcome;
}

GrammarOutcome GrammarCache::Compile(TenantId tenant, const GrammarKey& key,
                                     const AnswerSource& source, StopCheck stop) {
  auto outcome =
      std::make_shared<const OrError<CompiledGrammar>>(CompileAnswer(source, vocabulary_, stop));
  if (stop()) return outcome;
  // Taken apart outside the lock, for which the thread of sockets waits; this one gives way.
  std::list<Kept> thrown_out;
  const std::lock_guard lock(mutex_);
  std::list<Kept>& kept = tenants_[tenant];
  const auto same = [&](const Kept& each) { return each.key == key; };
  const auto before = std::find_if(kept.begin(), kept.end(), same);
  if (before != kept.end()) thrown_out.splice(thrown_out.end(), kept, before);
  kept.push_front({key, outcome});
  // Of all anew: masks are added to a grammar while it is used.
  int64_t bytes = 0;
  int64_t count = 0;
  auto last = kept.begin();
  for (; last != kept.end(); ++last) {
    bytes += BytesOf(*last->outcome);
    const bool has_room = bytes <= kTenantBytes && count < kTenantGrammars;
    // The newest stays, whatever it takes.
    if (!has_room && count > 0) break;
    ++count;
  }
  thrown_out.splice(thrown_out.end(), kept, last, kept.end());
  return outcome;
}

}  // namespace skald::server
