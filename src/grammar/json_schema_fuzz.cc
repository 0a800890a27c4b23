// Fuzz target of JSON Schema: the first byte cuts the input into a schema and a text, and has the
// options of compiling in its upper bits.
// Compiling is bounded; what is read can be completed: each beginning that is taken may end or has
// a byte that may follow, and the text as a whole is read as byte by byte.
#include "grammar/test_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t flags = size > 0 ? data[0] : 0;
  const skald::SchemaOptions options = {
      .mode = (flags & 32) != 0 ? skald::SchemaMode::kRelaxed : skald::SchemaMode::kStrict,
      .any_whitespace = (flags & 64) == 0,
      .only_objects = (flags & 128) != 0};
  skald::grammar::CheckInput({reinterpret_cast<const char*>(data), size},
                             [&](std::string_view source, skald::CompileBudget* budget) {
                               return skald::Grammar::FromJsonSchema(source, options, budget);
                             });
  return 0;
}
