#include "base/heap.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace skald {
namespace {

// Fails, by a signal, where a sanitizer's allocator stands before glibc's.
TEST(ReturnFreeMemory, MayBeCalledByAnyThread) {
  std::vector<std::byte> used(1 << 20);
  std::thread([] {
    std::vector<std::byte>(1 << 20).clear();
    ReturnFreeMemory();
  }).join();
  ReturnFreeMemory();
  EXPECT_EQ(used.size(), size_t{1} << 20);
}

}  // namespace
}  // namespace skald
