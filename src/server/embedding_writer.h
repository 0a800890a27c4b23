/// EmbeddingWriter: the answer of /v1/embeddings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"
#include "server/vector_writer.h"
#include "skald/ids.h"

namespace skald::server {

/// [{"object": "embedding", "index", "embedding"}, ...] of vectors by index, in pieces of some 256
/// KiB. Lets each vector go when it is written.
std::vector<std::string> EmbeddingsJson(std::vector<std::vector<float>> vectors, VectorForm form);

/// The most bytes of such a list of so many numbers.
int64_t EmbeddingBytes(VectorForm form, int64_t numbers);

/// See above.
class EmbeddingWriter final : public VectorWriter {
 public:
  EmbeddingWriter(VectorForm form, Pooling pooling) : form_(form), pooling_(pooling) {}

  std::string_view opening() const override;
  std::vector<std::string> List(std::vector<std::vector<float>> vectors) const override;
  void AddMembers(const VectorFrame& frame, JsonWriter& json) const override;

 private:
  VectorForm form_;
  Pooling pooling_;
};

}  // namespace skald::server
