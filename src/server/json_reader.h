/// ReadJson: a request's body to a JSON value, strictly (RFC 8259).
///
/// Beside what is not JSON it refuses what two readers would understand differently or what costs
/// more than it can mean: names that stand twice in one object, depth beyond kJsonDepth, more than
/// kJsonValues values. Errors say where. Pure; linear, but for the names of each object, which are
/// sorted.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>

#include "server/api_error.h"

namespace skald::server {

inline constexpr size_t kJsonDepth = 64;
/// A body of 8 MiB can hold 4 million values of 16 bytes each; no request needs so many. A prompt
/// of a million token ids fits.
inline constexpr size_t kJsonValues = size_t{1} << 20;

/// The value, or why there is none.
OrError<boost::json::value> ReadJson(std::string_view text);

}  // namespace skald::server
