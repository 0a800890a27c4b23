/// JSON Schema, draft 2020-12, as grammars of JSON texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/grammar.h"
#include "skald/status.h"

namespace skald::grammar {

struct CompiledSchema {
  Form form;
  std::vector<std::string> left_out;  ///< of a relaxed schema, pointers
};

/// Errors as Grammar::FromJsonSchema.
Result<CompiledSchema> CompileJsonSchema(std::string_view schema, const SchemaOptions& options,
                                         Fuel* fuel);

}  // namespace skald::grammar
