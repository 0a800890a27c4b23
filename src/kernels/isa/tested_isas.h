/// The instruction sets that a test of this room runs on the CPU at hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
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

}  // namespace skald::kernels
