/// JsonSize: how much there is in a JSON value, for bounds on what clients send along.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>

namespace skald::server {

/// At all depths.
struct JsonSize {
  size_t values = 0;  ///< members and elements, and the value itself
  size_t bytes = 0;   ///< of names and strings together
  size_t depth = 0;   ///< 0: a value that is no array or object
};

/// Linear. The value is at most as deep as a body is (kJsonDepth).
JsonSize SizeOf(const boost::json::value& value);

}  // namespace skald::server
