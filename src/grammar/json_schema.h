/// JSON Schema, draft 2020-12, as grammars of JSON texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/argument_syntax.h"
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

/// Objects that `schema` takes, as arguments of a call in `syntax`. Listed arguments (`enum`,
/// `const`) are not supported; else errors as CompileJsonSchema.
Result<CompiledSchema> CompileArguments(std::string_view schema, SchemaMode mode,
                                        const ArgumentSyntax& syntax, Fuel* fuel);

}  // namespace skald::grammar
