/// CLI11's application by name, for headers of commands: the library itself takes seconds to
/// compile, and only the sources that add options need it.
#pragma once

namespace CLI {
class App;
}  // namespace CLI
