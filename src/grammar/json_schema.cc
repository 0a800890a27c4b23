#include "grammar/json_schema.h"

#include <utility>

#include "base/status_macros.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_document.h"

namespace skald::grammar {

Result<CompiledSchema> CompileJsonSchema(std::string_view schema, const SchemaOptions& options,
                                         Fuel* fuel) {
  ASSIGN_OR_RETURN(const SchemaDocument document, SchemaDocument::Read(schema));
  SchemaCompiler compiler(document, options, fuel);
  ASSIGN_OR_RETURN(Form form, compiler.Compile());
  return CompiledSchema{std::move(form), compiler.TakeLeftOut()};
}

}  // namespace skald::grammar
