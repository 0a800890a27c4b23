#include "grammar/gbnf.h"

#include <utility>

#include "base/status_macros.h"
#include "grammar/gbnf_parser.h"
#include "grammar/rule_set.h"

namespace skald::grammar {

Result<Form> CompileGbnf(std::string_view gbnf, Fuel* fuel) {
  ASSIGN_OR_RETURN(GbnfRules rules, ParseGbnf(gbnf));
  return CompileRules({.rules = std::move(rules.rules), .root = rules.root}, fuel);
}

}  // namespace skald::grammar
