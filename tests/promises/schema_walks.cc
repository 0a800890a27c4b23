// Random texts under schemas, token by token through the mask; judged by judge_schemas.py.
//
//     schema_walks WALKS < schemas
//
// Reads {"schema": ...} a line, and writes {"schema": line, "text": ...} for each walk that comes
// to an end. A schema that is refused has none.

#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "grammar/constraint_state.h"
#include "grammar/test_vocabulary.h"
#include "grammar/token_table.h"
#include "skald/constraint.h"

namespace skald::grammar {
namespace {

namespace json = boost::json;

constexpr int kTokensMax = 400;

std::vector<TokenId> Allowed(const ConstraintState& state, int64_t count) {
  std::vector<uint64_t> words(static_cast<size_t>(count + 63) / 64);
  CHECK(state.FillMask(words).ok());
  std::vector<TokenId> allowed;
  for (TokenId id = 0; id < count; ++id)
    if ((words[static_cast<size_t>(id) / 64] >> (id & 63)) & 1) allowed.push_back(id);
  return allowed;
}

class Walk {
 public:
  Walk(const Constraint& constraint, uint64_t seed)
      : tokens_(constraint.vocabulary()), state_(constraint), random_(seed) {}

  // None if it came to no end.
  std::optional<std::string> Run() {
    for (int i = 0; i < kTokensMax; ++i) {
      if (state_.may_end() && (state_.must_end() || random_() % 4 == 0)) return text_;
      const std::vector<TokenId> allowed = Allowed(state_, tokens_.size());
      CHECK(!allowed.empty());
      const TokenId token = Choose(allowed);
      CHECK(state_.Advance(token).ok());
      text_ += tokens_.table().BytesOf(token);
    }
    return std::nullopt;
  }

 private:
  // Every second time rather what closes something: with any byte alike few texts would end.
  TokenId Choose(const std::vector<TokenId>& allowed) {
    constexpr int kTries = 6;
    const TokenId any = allowed[random_() % allowed.size()];
    if (random_() % 2 == 0) return any;
    for (int i = 0; i < kTries; ++i) {
      const TokenId token = allowed[random_() % allowed.size()];
      if (tokens_.table().BytesOf(token).find_first_of("\"}],") != std::string_view::npos)
        return token;
    }
    return any;
  }

  const Vocabulary& tokens_;
  ConstraintState state_;
  std::mt19937_64 random_;
  std::string text_;
};

void RunAll(uint64_t walks) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line); ++number) {
    const Result<Grammar> grammar =
        Grammar::FromJsonSchema(json::serialize(json::parse(line).at("schema")));
    if (!grammar.ok()) continue;
    const Result<Constraint> constraint = Constraint::Create(*grammar, vocabulary);
    CHECK(constraint.ok());
    for (uint64_t walk = 0; walk < walks; ++walk)
      if (const std::optional<std::string> text = Walk(*constraint, walk).Run())
        std::cout << json::object{{"schema", number}, {"text", *text}} << '\n';
  }
}

}  // namespace
}  // namespace skald::grammar

int main(int argc, char** argv) {
  CHECK(argc == 2);
  skald::grammar::RunAll(std::strtoull(argv[1], nullptr, 10));
  return 0;
}
