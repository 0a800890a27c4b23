#include "base/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/aligned_buffer.h"

namespace skald {
namespace {

TEST(CgroupLimit, IsTheLeastOfAGroupAndThoseAroundIt) {
  const std::string root = testing::TempDir() + "/cgroups-of-process-limits-test";
  std::filesystem::create_directories(root + "/outer/inner");
  const auto limit = [&](const char* group) { return CgroupLimit(root, group, "memory.max", 900); };
  EXPECT_EQ(limit("/outer/inner"), 900U);
  std::ofstream(root + "/outer/inner/memory.max") << "max\n";
  EXPECT_EQ(limit("/outer/inner"), 900U);
  std::ofstream(root + "/outer/memory.max") << "500\n";
  EXPECT_EQ(limit("/outer/inner"), 500U);
  std::ofstream(root + "/outer/inner/memory.max") << "400\n";
  EXPECT_EQ(limit("/outer/inner"), 400U);
  EXPECT_EQ(limit("/outer"), 500U);
  EXPECT_EQ(limit("/"), 900U);
  EXPECT_EQ(limit(""), 900U);
  std::filesystem::remove_all(root);
}

TEST(MemoryLimitBytes, IsAtMostTheMachines) {
  EXPECT_GT(MemoryLimitBytes(), 0U);
  EXPECT_LE(MemoryLimitBytes(), MachineMemoryBytes());
}

TEST(RaiseDescriptorLimit, RaisesToWhatIsAllowed) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_GT(RaiseDescriptorLimit(), 100);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace skald
