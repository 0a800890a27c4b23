/// VectorWriter: how an API says what the engine gives for a list of texts, or of pairs of texts.
///
/// An Embedder knows requests of the engine and their vectors; a writer knows the names and the
/// order of one API. So every such API has the same queue, bounds and turns behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "skald/request.h"

namespace skald::server {

/// What an answer may say of itself beside its list.
struct VectorFrame {
  std::string_view id;
  int64_t unix_seconds = 0;
  std::string_view model;
  std::string_view fingerprint;  ///< system_fingerprint
  int64_t prompt_tokens = 0;
  CachedTokens cached = {};  ///< of these
  double seconds = 0;        ///< since the request came
};

/// The members "model" and "system_fingerprint", and "usage" as OpenAI names it.
void AddModel(const VectorFrame& frame, JsonWriter& json);
void AddUsage(const VectorFrame& frame, JsonWriter& json);

/// Of one request.
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;
  /// What the answer begins with: `{`, and all that stands before the list.
  virtual std::string_view opening() const = 0;
  /// The list, of vectors by index, in pieces of some 256 KiB. Lets each vector go when it is
  /// written. Any thread, once.
  virtual std::vector<std::string> List(std::vector<std::vector<float>> vectors) const = 0;
  /// All other members, behind the list.
  virtual void AddMembers(const VectorFrame& frame, JsonWriter& json) const = 0;
};

}  // namespace skald::server
