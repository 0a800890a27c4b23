/// Quote: bytes from a file, made safe for a message.
#pragma once

#include <string>
#include <string_view>

namespace skald::formats {

/// `bytes` between single quotes, at most about `bytes_max` of them ("..." marks a cut). Everything
/// but printable ASCII becomes \n, \t or \xNN, so that a name from a hostile file can neither break
/// a message into two lines nor send escape sequences to a terminal.
std::string Quote(std::string_view bytes, size_t bytes_max = 80);

}  // namespace skald::formats
