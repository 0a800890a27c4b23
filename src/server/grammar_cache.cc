#include "server/grammar_cache.h"

#include <openssl/sha.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/status_macros.h"

namespace skald::server {

namespace {

// Of an entry beside its grammar.
constexpr int64_t kEntryBytes = 512;

int64_t BytesOf(const Result<CompiledGrammar>& outcome) {
  if (!outcome.ok()) return kEntryBytes + static_cast<int64_t>(outcome.status().message().size());
  int64_t bytes = kEntryBytes + outcome->constraint.memory_bytes();
  for (const std::string& pointer : outcome->left_out)
    bytes += static_cast<int64_t>(sizeof(pointer) + pointer.size());
  return bytes;
}

Result<Grammar> CompileText(const GrammarSource& source) {
  switch (source.kind) {
    case GrammarKind::kJsonSchema: return Grammar::FromJsonSchema(source.text, source.options);
    case GrammarKind::kRegex: return Grammar::FromRegex(source.text);
    case GrammarKind::kGbnf: break;
  }
  return Grammar::FromGbnf(source.text);
}

Result<CompiledGrammar> CompileOver(const GrammarSource& source, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const Grammar grammar, CompileText(source));
  ASSIGN_OR_RETURN(Constraint constraint, Constraint::Create(grammar, vocabulary));
  return CompiledGrammar{.constraint = std::move(constraint), .left_out = grammar.left_out()};
}

}  // namespace

GrammarKey KeyOf(const GrammarSource& source) {
  std::string all = {static_cast<char>(source.kind), static_cast<char>(source.options.mode),
                     source.options.any_whitespace ? '\1' : '\0'};
  all += source.text;
  GrammarKey key;
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), key.data());
  return key;
}

ApiError GrammarRefusal(const GrammarSource& source, const Status& status) {
  const bool is_schema = source.kind == GrammarKind::kJsonSchema;
  const std::string& message = status.message();
  std::string pointer = PointerOf(source);
  // "#/properties/a/not: is not supported"
  const size_t colon = message.find(": ");
  if (is_schema && message.starts_with('#') && colon != std::string::npos)
    pointer += message.substr(1, colon - 1);
  return {.status = 400,
          .message = message,
          .param = std::move(pointer),
          .code = is_schema ? "invalid_json_schema" : "invalid_grammar"};
}

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

GrammarOutcome GrammarCache::Compile(TenantId tenant, const GrammarSource& source) {
  auto outcome = std::make_shared<const Result<CompiledGrammar>>(CompileOver(source, vocabulary_));
  const GrammarKey key = KeyOf(source);
  const std::lock_guard lock(mutex_);
  std::list<Kept>& kept = tenants_[tenant];
  kept.remove_if([&](const Kept& each) { return each.key == key; });
  kept.push_front({key, outcome});
  // Of all anew: masks are added to a grammar while it is used.
  int64_t bytes = 0;
  auto last = kept.begin();
  for (; last != kept.end() && bytes <= kTenantBytes; ++last) bytes += BytesOf(*last->outcome);
  if (bytes > kTenantBytes && std::prev(last) != kept.begin())
    kept.erase(std::prev(last), kept.end());
  return outcome;
}

}  // namespace skald::server
