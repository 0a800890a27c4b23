/// CLI11 by name, for headers: the library itself takes seconds to compile and stays behind
/// flags.h and app.h.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
