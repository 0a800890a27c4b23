/// The body of llama.cpp's /infill, as editors send it, as a GenerationRequest. Where llama.cpp has
/// a default of its own that is the one.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>

#include "server/generation_request.h"

namespace skald::server {

inline constexpr size_t kMaxInfillFiles = 256;        ///< of input_extra
inline constexpr size_t kMaxResponseFields = 64;      ///< members of the answer that are asked for
inline constexpr size_t kMaxResponseFieldBytes = 64;  ///< of the name of one

OrError<GenerationRequest> ReadInfillRequest(const boost::json::value& body);

}  // namespace skald::server
