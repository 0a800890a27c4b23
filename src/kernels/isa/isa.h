/// Instruction sets that kernels have variants for: a list of names.
///
/// A set is one file of its architecture (x86/avx2.cc) and its line in list.cc. Nothing else knows
/// how many there are or which of them implies another: a set says by itself whether it can run
/// here, and fills a table of functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace skald::kernels {

struct KernelTable;

/// An instruction set, a plain value. Two of the same name are equal.
struct Isa {
  std::string_view name;  ///< "avx512"; constant
  /// What it needs of the CPU in the words of Linux, separated by blanks; constant.
  std::string_view cpu_flags;
  /// Whether CPU and operating system can run it, which does not change while a process lives.
  bool (*supported)() = nullptr;
  /// Fills every function of a table: its own, and those of a lesser set where it has none. Any CPU
  /// can fill a table; calling the functions requires supported().
  void (*install)(KernelTable& table) = nullptr;

  friend bool operator==(const Isa& a, const Isa& b) { return a.name == b.name; }
};

/// All sets that this program was built with, slowest first.
std::vector<Isa> AllIsas();

/// "scalar", the first of them: portable C++, the specification.
Isa ScalarIsa();

/// The set of that name; nothing for any other text.
std::optional<Isa> FindIsa(std::string_view name);

/// The last one that is supported().
Isa DetectIsa();

}  // namespace skald::kernels
