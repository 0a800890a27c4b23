#include "skald/grammar.h"

#include <utility>

#include "base/status_macros.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/limits.h"
#include "grammar/recognizer.h"
#include "grammar/regex.h"

namespace skald {

static_assert(CompileBudget{}.steps == grammar::kCompileSteps);

Grammar::Grammar(grammar::Form form)
    : form_(std::make_shared<const grammar::Form>(std::move(form))) {}

Result<Grammar> Grammar::FromRegex(std::string_view regex) {
  CompileBudget budget;
  return FromRegex(regex, &budget);
}

Result<Grammar> Grammar::FromRegex(std::string_view regex, CompileBudget* budget) {
  ASSIGN_OR_RETURN(grammar::Form form, grammar::WithinBudget(budget, [&](grammar::Fuel* fuel) {
                     return grammar::CompileRegex(regex, fuel);
                   }));
  return FromForm(std::move(form));
}

Result<Grammar> Grammar::FromGbnf(std::string_view gbnf) {
  CompileBudget budget;
  return FromGbnf(gbnf, &budget);
}

Result<Grammar> Grammar::FromGbnf(std::string_view gbnf, CompileBudget* budget) {
  ASSIGN_OR_RETURN(grammar::Form form, grammar::WithinBudget(budget, [&](grammar::Fuel* fuel) {
                     return grammar::CompileGbnf(gbnf, fuel);
                   }));
  return FromForm(std::move(form));
}

Result<Grammar> Grammar::FromJsonSchema(std::string_view schema, const SchemaOptions& options) {
  CompileBudget budget;
  return FromJsonSchema(schema, options, &budget);
}

Result<Grammar> Grammar::FromJsonSchema(std::string_view schema, const SchemaOptions& options,
                                        CompileBudget* budget) {
  ASSIGN_OR_RETURN(grammar::CompiledSchema compiled,
                   grammar::WithinBudget(budget, [&](grammar::Fuel* fuel) {
                     return grammar::CompileJsonSchema(schema, options, fuel);
                   }));
  return FromForm(std::move(compiled.form), std::move(compiled.left_out));
}

Grammar Grammar::FromForm(grammar::Form form, std::vector<std::string> left_out) {
  Grammar grammar(std::move(form));
  grammar.left_out_ = std::move(left_out);
  return grammar;
}

GrammarCheck CheckText(const Grammar& grammar, std::string_view text) {
  const grammar::Form& form = grammar.form();
  const grammar::Reading reading = grammar::ReadBytes(form, grammar::FirstRow(form), text);
  GrammarCheck check;
  check.good_bytes = reading.taken;
  check.next = grammar::NextBytes(form, *reading.row);
  check.may_end = reading.row->accepting;
  check.verdict = GrammarVerdict::kDead;
  if (reading.row->too_complex)
    check.verdict = GrammarVerdict::kTooComplex;
  else if (reading.taken == text.size())
    check.verdict = check.may_end ? GrammarVerdict::kAccepted : GrammarVerdict::kIncomplete;
  return check;
}

}  // namespace skald
