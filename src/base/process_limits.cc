#include "base/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "base/aligned_buffer.h"

namespace skald {

uint64_t CgroupLimit(std::string_view root, std::string_view group, std::string_view name,
                     uint64_t otherwise) {
  uint64_t least = otherwise;
  std::string_view at = group;
  for (;;) {
    while (at.ends_with('/')) at.remove_suffix(1);
    std::string path(root);
    path += at;
    path += '/';
    path += name;
    std::ifstream file(path);
    uint64_t limit = 0;
    // Without a limit the file says "max", which is no number.
    if (file >> limit) least = std::min(least, limit);
    if (at.empty()) return least;
    at.remove_suffix(at.size() - std::min(at.size(), at.rfind('/')));
  }
}

uint64_t MemoryLimitBytes() {
  std::string group;
  std::ifstream file("/proc/self/cgroup");
  // Of version 2 there is one line: "0::/system.slice/skald.service".
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  return CgroupLimit("/sys/fs/cgroup", group, "memory.max", MachineMemoryBytes());
}

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  constexpr rlim_t kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
}

}  // namespace skald
