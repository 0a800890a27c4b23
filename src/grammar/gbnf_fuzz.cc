// Fuzz target of GBNF: the first byte cuts the input into a grammar and a text.
// Compiling is bounded; what is read can be completed: each beginning that is taken may end, or a
// byte or a control token may follow it; and the text as a whole is read as byte by byte.
#include "grammar/test_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::grammar::CheckInput({reinterpret_cast<const char*>(data), size},
                             [](std::string_view source, skald::CompileBudget* budget) {
                               return skald::Grammar::FromGbnf(source, budget);
                             });
  return 0;
}
