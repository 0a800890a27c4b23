/// The instruction sets that a test of this room runs on the CPU at hand.
#pragma once

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/isa/isa.h"

namespace skald::kernels {

/// All levels up to DetectIsa(). Says on stderr which ones this CPU lacks: their tests do not exist
/// on this machine, and a reader of the log should know.
inline std::vector<Isa> TestedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (isa <= DetectIsa()) {
      isas.push_back(isa);
    } else {
      std::fprintf(stderr, "not run: this CPU lacks %s\n", std::string(IsaName(isa)).c_str());
    }
  }
  return isas;
}

/// The name of a test's instance.
inline std::string IsaTestName(const testing::TestParamInfo<Isa>& info) {
  return std::string(IsaName(info.param));
}

/// The best level by the list of the operating system, which takes no code of ours to read: where
/// DetectIsa() says less, tests and users go without variants, and every test passes.
inline Isa IsaOfSystem() {
  std::set<std::string> flags;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    flags.insert(std::istream_iterator<std::string>(words), {});
    break;
  }
  const auto has = [&](std::initializer_list<const char*> wanted) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const char* flag) { return flags.contains(flag); });
  };
  if (!has({"avx2", "fma", "f16c"})) return Isa::kScalar;
  if (!has({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"})) return Isa::kAvx2;
#if defined(__x86_64__)
  // The system may have the tiles and yet refuse them: ARCH_REQ_XCOMP_PERM of XTILEDATA.
  if (has({"amx_tile", "amx_int8"}) && syscall(SYS_arch_prctl, 0x1023, 18) == 0) return Isa::kAmx;
#endif
  return Isa::kAvx512;
}

/// Expects as many tests of `suite` for each level that this machine has as for the scalar one.
/// Records the levels that it lacks: their tests do not exist here.
inline void ExpectTestsOfEveryIsa(std::string_view suite) {
  const auto count_of = [&](Isa isa) {
    int count = 0;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& found = *all.GetTestSuite(i);
      if (found.name() != suite) continue;
      for (int k = 0; k < found.total_test_count(); ++k) {
        const std::string_view name = found.GetTestInfo(k)->name();
        const size_t begin = name.find_last_of("/_");
        if (!name.starts_with("DISABLED_") && name.substr(begin + 1) == IsaName(isa)) ++count;
      }
    }
    return count;
  };
  const int scalar = count_of(Isa::kScalar);
  EXPECT_GT(scalar, 0) << suite;
  for (const Isa isa : kAllIsas) {
    const std::string name(IsaName(isa));
    const bool present = isa <= IsaOfSystem();
    EXPECT_EQ(count_of(isa), present ? scalar : 0) << suite << ", " << name;
    testing::Test::RecordProperty(name, present ? "run" : "not run: the CPU lacks it");
    if (!present) std::fprintf(stderr, "not run: this CPU lacks %s\n", name.c_str());
  }
}

}  // namespace skald::kernels
