/// The instruction sets that a test of this room runs on the CPU at hand.
#pragma once

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/isa/isa.h"

namespace skald::kernels {

/// For messages of tests.
inline void PrintTo(const Isa& isa, std::ostream* out) { *out << isa.name; }

/// Every set that is supported(). Says on stderr which ones this CPU lacks: their tests do not
/// exist on this machine, and a reader of the log should know. Says it once a process: a hundred
/// suites ask, and as many lines would hide what a failed test says.
inline std::vector<Isa> TestedIsas() {
  static const std::vector<Isa> tested = [] {
    std::vector<Isa> isas;
    for (const Isa& isa : AllIsas()) {
      if (isa.supported()) {
        isas.push_back(isa);
      } else {
        std::fprintf(stderr, "not run: this CPU lacks %s\n", std::string(isa.name).c_str());
      }
    }
    return isas;
  }();
  return tested;
}

/// The name of a test's instance.
inline std::string IsaTestName(const testing::TestParamInfo<Isa>& info) {
  return std::string(info.param.name);
}

/// Whether the machine has a set by the list of the operating system, which takes no code of ours
/// to read: where supported() says less, tests and users go without variants, and every test
/// passes.
inline bool SystemHas(const Isa& isa) {
  std::set<std::string> flags;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    flags.insert(std::istream_iterator<std::string>(words), {});
    break;
  }
  std::istringstream wanted{std::string(isa.cpu_flags)};
  for (std::string flag; wanted >> flag;) {
    if (!flags.contains(flag)) return false;
#if defined(__x86_64__)
    // The system may have the tiles and yet refuse them: ARCH_REQ_XCOMP_PERM of XTILEDATA.
    if (flag == "amx_tile" && syscall(SYS_arch_prctl, 0x1023, 18) != 0) return false;
#endif
  }
  return true;
}

/// Expects as many tests of `suite` for each set that this machine has as for the scalar one.
/// Records the sets that it lacks: their tests do not exist here.
inline void ExpectTestsOfEveryIsa(std::string_view suite) {
  const auto count_of = [&](const Isa& isa) {
    int count = 0;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& found = *all.GetTestSuite(i);
      if (found.name() != suite) continue;
      for (int k = 0; k < found.total_test_count(); ++k) {
        const std::string_view name = found.GetTestInfo(k)->name();
        const size_t begin = name.find_last_of("/_");
        if (!name.starts_with("DISABLED_") && name.substr(begin + 1) == isa.name) ++count;
      }
    }
    return count;
  };
  const int scalar = count_of(ScalarIsa());
  EXPECT_GT(scalar, 0) << suite;
  for (const Isa& isa : AllIsas()) {
    const std::string name(isa.name);
    const bool present = SystemHas(isa);
    EXPECT_EQ(count_of(isa), present ? scalar : 0) << suite << ", " << name;
    testing::Test::RecordProperty(name, present ? "run" : "not run: the CPU lacks it");
    if (!present) std::fprintf(stderr, "not run: this CPU lacks %s\n", name.c_str());
  }
}

}  // namespace skald::kernels
