/// Reading what the user wants read: prompts and token lists, from files, pipes and stdin.
#pragma once

#include <cstdint>
#include <string>

#include "skald/status.h"

namespace skald::cli {

/// Longest input that is read. Ten times the text of the longest context there is; an endless
/// device stops here instead of filling the memory.
inline constexpr int64_t kInputBytesMax = int64_t{64} << 20;

/// All bytes of the file, pipe or device `path`; "-" is stdin. Errors: kNotFound, kIo with the
/// system's reason, kInvalidArgument if there are more than kInputBytesMax bytes.
Result<std::string> ReadInput(const std::string& path);

/// All bytes of stdin. Errors as ReadInput.
Result<std::string> ReadStdin();

/// `text` without one newline ("\n" or "\r\n") at its end: the one that editors and `echo` add.
std::string WithoutFinalNewline(std::string text);

}  // namespace skald::cli
