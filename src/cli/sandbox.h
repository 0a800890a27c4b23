/// Sandbox: what a process that serves strangers gives up for good once it has all it needs.
///
/// Two nets of the Linux kernel, each worth having alone. Landlock (LimitFiles) says which files
/// can be opened; a seccomp filter (LimitCalls) says which system calls exist. Neither can be taken
/// back, by anybody: code that an attacker smuggles in finds no file to read or write but those
/// named, no program to start, no address to connect to, no process to look into, and no page that
/// is both written and executed. What it still has: the memory of the process, and the connections
/// that clients have opened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "skald/status.h"

namespace skald::cli {

/// Which processes can be signalled, as far as LimitFiles decides it.
enum class Signals : uint8_t { kInside, kOutside };

/// From now on this thread, and every thread it starts later, can open only what lies in `readable`
/// (files, or directories with all that is in them), and only to read; what it has open stays open.
/// It can connect to no TCP port, and with Signals::kInside signal no process outside. A path that
/// does not exist is left out. Call it before the threads that serve are started: those that run
/// already stay free.
///
/// kOutside is for the ranks of a model, of which LimitCalls then says whom they may signal: the
/// kernel ends a worker with the first rank (PR_SET_PDEATHSIG) in that one's name, and by its
/// rights.
///
/// Errors: kUnsupported if the kernel has no Landlock (before 5.13, or switched off) or refuses;
/// then nothing is limited.
Status LimitFiles(std::span<const std::string> readable, Signals signals = Signals::kInside);

/// From now on no thread of this process can make another system call than those that serving
/// needs: reading, writing and accepting on what is open, memory that is not executable, threads,
/// time, opening files to read (LimitFiles says which). Everything else fails with EPERM: sockets,
/// programs, processes, traces, files to write, mounts, modules. `may_end`: the one process that it
/// may signal.
///
/// Errors: kUnsupported if the kernel has no seccomp filters or refuses, and in a build with a
/// sanitizer, whose runtime needs other calls; then nothing is limited.
Status LimitCalls(std::optional<int> may_end = {});

}  // namespace skald::cli
