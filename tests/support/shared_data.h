/// SharedData: where the large recordings lie that do not travel with the repository.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace skald::support {

/// A file or folder below `shared`, beside the checkout. For suites called *SharedData only: where
/// there is no such folder, or SKALD_SHARED_DATA=none says so, ctest leaves these out
/// (cmake/shared_data.cmake), and any other that asks is told a path that does not exist.
inline std::string SharedData(std::string_view path) {
  const char* told = std::getenv("SKALD_SHARED_DATA");
  const bool none = told != nullptr && std::string_view(told) == "none";
  return (none ? "/no shared data/" : SKALD_SOURCE_DIR "/../shared/") + std::string(path);
}

}  // namespace skald::support
