// Fuzz target of JSON Schema: the first byte cuts the input into a schema and a text.
// Compiling is bounded; what is read can be completed: each beginning that is taken may end or has
// a byte that may follow, and the text as a whole is read as byte by byte.
#include "grammar/test_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::grammar::CheckInput({reinterpret_cast<const char*>(data), size},
                             [](std::string_view s) { return skald::Grammar::FromJsonSchema(s); });
  return 0;
}
