/// ModelHash: SHA-256 of a model, made when somebody asks, and kept.
///
/// It covers every key with its type and bytes, and of every tensor name, type, shape and bytes, in
/// the order of the file: whatever a model computes with. Not what stands around these, as padding.
///
///     SHA-256 of "skald model 1\n", then for each key
///         its name, a zero byte, type and element type (a byte each), count (uint64), value bytes
///     and for each tensor
///         its name, a zero byte, the name of its type, a zero byte, its four dimensions (uint64; 1
///         where it has fewer), and the SHA-256 of its bytes (32 bytes)
///
/// Numbers are little-endian, values as GGUF has them. Whoever has the file can make it anew.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "formats/model_file.h"
#include "skald/status.h"

namespace skald::load {

/// See above. Errors: kIo. Cost: reads the whole file, on the calling thread; about a second for a
/// GB.
Result<std::string> HashOfModel(const formats::ModelFile& file);

/// Of one file. Thread-safe.
class ModelHash {
 public:
  explicit ModelHash(std::shared_ptr<const formats::ModelFile> file) : file_(std::move(file)) {}

  /// 64 digits. The first caller computes; those that come meanwhile wait. Errors: kIo, which the
  /// next caller tries anew.
  Result<std::string> Get();

 private:
  std::shared_ptr<const formats::ModelFile> file_;
  std::mutex mutex_;
  std::optional<std::string> hash_;
};

}  // namespace skald::load
