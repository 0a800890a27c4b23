/// The `skald` program. Everything it does is in cli/app.h, where tests reach it.

#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(skald::cli::Main(arguments));
}
