/// CHECK, DCHECK, UNREACHABLE: bugs stop the program with a message.
///
/// Never reachable from a request, a file or a byte sequence: those are Status errors. A fuzzer
/// that reaches a CHECK has found a bug. The three macros are on the allow-list of the tidy test
/// because they need the source line and the text of the condition.
#pragma once

namespace skald {

/// Prints "CHECK failed: condition (file:line)" to stderr and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace skald

/// Stops the program unless `condition` holds. Always on: the cost is one predictable branch.
#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::skald::CheckFailed(#condition, __FILE__, __LINE__))

/// As CHECK in debug and sanitizer builds, nothing (but still compiled) in release builds.
#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define DCHECK(condition) CHECK(condition)
#endif

/// Marks a place no execution reaches, such as the end of a switch over all enumerators.
#define UNREACHABLE() ::skald::CheckFailed("unreachable", __FILE__, __LINE__)
