#include "skald/constraint.h"

#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "grammar/constraint_data.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/leaf_mask.h"
#include "grammar/memory_bytes.h"
#include "grammar/plain_states.h"
#include "grammar/recognizer.h"
#include "grammar/token_mask.h"
#include "grammar/token_table.h"
#include "grammar/used_symbols.h"
#include "skald/tokenizer.h"

namespace skald {

namespace {

// A step takes some 10 ns, the rooms of a state about a microsecond.
constexpr int64_t kStepsOfState = 100;

bool HasText(const Tokenizer& tokenizer, TokenId id) {
  return !tokenizer.IsControl(id) && tokenizer.Type(id) != TokenType::kUnused &&
         !tokenizer.IsEndOfGeneration(id);
}

std::string Hex(int byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

// Most objects take any keys or none but the named ones, and then both are the same.
grammar::RulePlain PlainOf(const grammar::Rule& rule) {
  grammar::RulePlain plain = {.many = grammar::PlainRooms(rule, grammar::KeysLeft::kMany),
                              .any = {}};
  const auto* object = std::get_if<grammar::Object>(&rule);
  if (object == nullptr) return plain;
  plain.any =
      object->HasFewKeys() ? grammar::PlainRooms(rule, grammar::KeysLeft::kAny) : plain.many;
  return plain;
}

std::shared_ptr<const grammar::KeptMask> FirstMask(const grammar::ConstraintData& data,
                                                   grammar::Fuel* work) {
  grammar::KeptMask mask = {.row = data.first,
                            .words = std::vector<uint64_t>(data.vocabulary.table().mask_words())};
  if (data.first->too_complex || !grammar::AllowTokens(data, data.first, mask.words, work))
    return nullptr;
  return std::make_shared<const grammar::KeptMask>(std::move(mask));
}

size_t FixedBytes(const grammar::ConstraintData& data) {
  size_t bytes = grammar::MemoryBytes(data.grammar.form());
  if (data.first_mask != nullptr) bytes += data.first_mask->words.size() * sizeof(uint64_t);
  for (const grammar::RulePlain& rule : data.plain)
    bytes += sizeof(rule) + (rule.many.size() + rule.any.size()) * sizeof(grammar::StateRoom);
  return bytes;
}

}  // namespace

Vocabulary::Vocabulary(std::shared_ptr<const grammar::TokenTable> table)
    : table_(std::move(table)) {}

Vocabulary Vocabulary::FromTokenizer(const Tokenizer& tokenizer) {
  std::vector<std::string_view> bytes(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (HasText(tokenizer, id)) bytes[i] = tokenizer.TokenBytes(id);
  }
  return FromBytes(bytes);
}

Vocabulary Vocabulary::FromBytes(std::span<const std::string_view> token_bytes) {
  return Vocabulary(std::make_shared<const grammar::TokenTable>(token_bytes));
}

int64_t Vocabulary::size() const { return table_->token_count(); }

Constraint::Constraint(std::shared_ptr<const grammar::ConstraintData> data)
    : data_(std::move(data)) {}

Result<Constraint> Constraint::Create(const Grammar& grammar, const Vocabulary& vocabulary,
                                      StopCheck stop) {
  const grammar::UsedSymbols used = grammar::UsedSymbolsOf(grammar.form());
  for (const TokenId token : used.tokens) {
    if (token < vocabulary.size() && vocabulary.table().BytesOf(token).empty()) continue;
    return Status(ErrorCode::kInvalidArgument,
                  "the grammar names the token " + std::to_string(token) +
                      ", expected one of the vocabulary that has no text: a control token");
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (!used.bytes[byte] || vocabulary.table().HasByte(static_cast<uint8_t>(byte))) continue;
    return Status(ErrorCode::kInvalidArgument,
                  "the model's vocabulary has no token for the byte " + Hex(byte) +
                      " alone, which the grammar allows; it cannot spell such texts");
  }
  grammar::Fuel work(std::numeric_limits<int64_t>::max(), stop);
  std::vector<grammar::RulePlain> plain;
  for (const grammar::Rule& rule : grammar.form().rules) {
    plain.push_back(PlainOf(rule));
    if (!work.Spend(kStepsOfState * (1 + std::ssize(plain.back().many)))) return work.Error();
  }
  auto data = std::make_shared<grammar::ConstraintData>(
      grammar::ConstraintData{.grammar = grammar,
                              .vocabulary = vocabulary,
                              .first = grammar::FirstRow(grammar.form()),
                              .plain = std::move(plain),
                              .leaf_masks = std::make_unique<grammar::LeafMasks>()});
  data->first_mask = FirstMask(*data, &work);
  if (work.IsSpent()) return work.Error();
  data->fixed_bytes = FixedBytes(*data);
  return Constraint(std::move(data));
}

const Grammar& Constraint::grammar() const { return data_->grammar; }

const Vocabulary& Constraint::vocabulary() const { return data_->vocabulary; }

int64_t Constraint::memory_bytes() const {
  return static_cast<int64_t>(data_->fixed_bytes + data_->leaf_masks->bytes());
}

}  // namespace skald
