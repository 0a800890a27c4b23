#include "grammar/json_schema.h"

#include <utility>

#include "base/status_macros.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_document.h"

namespace skald::grammar {

namespace {

Result<CompiledSchema> Compiled(std::string_view schema, const SchemaOptions& options,
                                const ArgumentSyntax* syntax, Fuel* fuel) {
  ASSIGN_OR_RETURN(const SchemaDocument document, SchemaDocument::Read(schema));
  SchemaCompiler compiler(document, options, syntax, fuel);
  ASSIGN_OR_RETURN(Form form, compiler.Compile());
  return CompiledSchema{std::move(form), compiler.TakeLeftOut()};
}

}  // namespace

Result<CompiledSchema> CompileJsonSchema(std::string_view schema, const SchemaOptions& options,
                                         Fuel* fuel) {
  return Compiled(schema, options, nullptr, fuel);
}

Result<CompiledSchema> CompileArguments(std::string_view schema, SchemaMode mode,
                                        const ArgumentSyntax& syntax, Fuel* fuel) {
  return Compiled(schema, {.mode = mode, .only_objects = true}, &syntax, fuel);
}

}  // namespace skald::grammar
