/// The parser of GBNF: from the text to an expression for each rule.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/expression.h"
#include "skald/status.h"

namespace skald::grammar {

struct GbnfRules {
  std::vector<Expression> rules;  ///< a part kRule is an index of these
  uint32_t root = 0;
};

/// Linear. Errors as CompileGbnf, but for those of compiling.
Result<GbnfRules> ParseGbnf(std::string_view gbnf);

}  // namespace skald::grammar
