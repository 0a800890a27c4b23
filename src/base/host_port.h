/// HOST:PORT, as users write where something listens: "127.0.0.1:9090", "[::1]:9090", "node:7000".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skald {

struct HostPort {
  std::string host;  ///< without brackets
  uint16_t port = 0;
  bool has_brackets = false;  ///< as an address of IPv6 has them, since it is made of colons itself
};

/// Nothing for any other text. Any host will do: whoever uses it knows what may stand there.
std::optional<HostPort> ParseHostPort(std::string_view text);

}  // namespace skald
