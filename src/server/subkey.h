/// Subkey: numbers for one purpose from the server's secret. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace skald::server {

/// The first 64 bits of HMAC-SHA-256 with the secret for a key. Who learns the numbers of one
/// purpose (ids are in every answer) learns nothing of the secret or of another purpose.
uint64_t Subkey(std::string_view secret, std::string_view purpose);

}  // namespace skald::server
