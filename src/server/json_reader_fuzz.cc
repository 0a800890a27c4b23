// Fuzz target: ReadJson, against Boost.JSON's own parse.
//
// What is taken, Boost takes with the same value, and its serialized form is taken. What Boost
// takes and ReadJson does not, is refused for one of our rules (names twice, depth, number).
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "server/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = skald::server::ReadJson(text);
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = skald::server::kJsonDepth;
  const boost::json::value theirs =
      boost::json::parse({text.data(), text.size()}, error, {}, options);
  if (const auto* refusal = std::get_if<skald::server::ApiError>(&read)) {
    const bool is_our_rule = refusal->message.find("stands twice") != std::string::npos ||
                             refusal->message.find("there are more than") != std::string::npos ||
                             refusal->message.find("out of range") != std::string::npos;
    CHECK(error || is_our_rule);
    return 0;
  }
  const auto& ours = std::get<boost::json::value>(read);
  CHECK(!error && ours == theirs);
  const auto again = skald::server::ReadJson(boost::json::serialize(ours));
  // The value of a number may differ in its last bit: Boost's reader does not round exactly.
  CHECK(std::get<boost::json::value>(again).kind() == ours.kind());
  return 0;
}
