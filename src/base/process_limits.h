/// What the system lets this process have.
#pragma once

#include <cstdint>
#include <string_view>

namespace skald {

/// Memory: the machine's, or what the cgroup (v2) of the process and those around it allow.
uint64_t MemoryLimitBytes();

/// The least of the limits that the files `name` of a cgroup and of those around it hold, up to
/// `otherwise`. `group`: "/system.slice/skald.service"; `root`: where cgroups are mounted.
uint64_t CgroupLimit(std::string_view root, std::string_view group, std::string_view name,
                     uint64_t otherwise);

/// Raises the number of descriptors this process may have to what it may raise it to. Returns what
/// it may have now.
int64_t RaiseDescriptorLimit();

}  // namespace skald
