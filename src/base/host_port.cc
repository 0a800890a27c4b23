#include "base/host_port.h"

#include <charconv>

namespace skald {

std::optional<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  HostPort place;
  place.has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (place.has_brackets) host = host.substr(1, host.size() - 2);
  // Without brackets nobody knows which colon is the last of the host.
  if (!place.has_brackets && host.find_first_of(":[]") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto read = std::from_chars(port.begin(), port.end(), place.port);
  if (read.ec != std::errc() || read.ptr != port.end()) return std::nullopt;
  place.host = host;
  return place;
}

}  // namespace skald
