#include "grammar/gbnf.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/gbnf_parser.h"
#include "grammar/limits.h"
#include "grammar/thompson.h"
#include "grammar/trim.h"

namespace skald::grammar {

namespace {

class GbnfCompiler {
 public:
  GbnfCompiler(size_t rules, Fuel* fuel) : fuel_(*fuel) { form_.rules.resize(rules); }

  // Makes rule number `rule`.
  Status Compile(uint32_t rule, const Expression& expression) {
    Nfa nfa;
    nfa.start = nfa.AddState();
    const uint32_t last = nfa.AddState();
    ThompsonOptions options;
    options.make_repeat = [this](const Expression& repeat) { return MakeCounted(repeat); };
    RETURN_IF_ERROR(AddExpression(expression, nfa.start, last, options, &fuel_, &nfa));
    states_ += nfa.size();
    if (states_ > kStatesMax)
      return Status(ErrorCode::kInvalidArgument,
                    "needs more than " + std::to_string(kStatesMax) + " states");
    if (!FinishNfa(last, &fuel_, &nfa)) return Fuel::Error();
    ASSIGN_OR_RETURN(form_.rules[rule], MakeRule(nfa, &fuel_));
    return Ok();
  }

  Form Take() { return std::move(form_); }

 private:
  Result<uint32_t> MakeCounted(const Expression& repeat) {
    const auto counted = static_cast<uint32_t>(form_.rules.size());
    form_.rules.emplace_back(Counted{counted + 1, repeat.min, repeat.max});
    form_.rules.emplace_back();
    RETURN_IF_ERROR(Compile(counted + 1, repeat.parts.front()));
    return counted;
  }

  Form form_;
  Fuel& fuel_;
  size_t states_ = 0;
};

}  // namespace

Result<Form> CompileGbnf(std::string_view gbnf, Fuel* fuel) {
  ASSIGN_OR_RETURN(const GbnfRules rules, ParseGbnf(gbnf));
  GbnfCompiler compiler(rules.rules.size(), fuel);
  for (uint32_t rule = 0; rule < rules.rules.size(); ++rule)
    RETURN_IF_ERROR(compiler.Compile(rule, rules.rules[rule]));
  Form form = compiler.Take();
  form.root = rules.root;
  RETURN_IF_ERROR(Trim(fuel, &form));
  return form;
}

}  // namespace skald::grammar
