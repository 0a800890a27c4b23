/// ReadJson: a request's body to a JSON value, strictly (RFC 8259).
///
/// Beside what is not JSON it refuses what two readers would understand differently or what costs
/// more than it can mean: names that stand twice in one object, depth beyond kJsonDepth, more than
/// kJsonValues values, more than kJsonNames names in an object. Errors say where. Pure; linear, but
/// for the names of each object: these are sorted, and put into a table whose hash a client can
/// make collide. What that can cost at worst is bounded for the whole body (kJsonComparisons).
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

/// Names of one object: twice as many as the largest known field has (logit_bias).
inline constexpr size_t kJsonNames = 2048;
/// The sum, over the objects with more than 18 names, of (names) times (bytes of all its names, and
/// 16 for each): some 30 ms. An object of 2048 short names fits, or 2000 of 50 names each.
inline constexpr size_t kJsonComparisons = size_t{1} << 27;

/// The value, or why there is none.
OrError<boost::json::value> ReadJson(std::string_view text);

}  // namespace skald::server
