/// ModelFile: a model on disk, whatever its format: keys, tensors, and the bytes of the tensors.
///
/// Keys and names are those of GGUF, which the rest of the program knows. GgufModel reads a file
/// that has them; the room huggingface shows a folder of another format as if it had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "formats/tensor_directory.h"
#include "skald/status.h"

namespace skald::formats {

/// Reads from several threads at once are allowed.
class ModelFile {
 public:
  virtual ~ModelFile() = default;

  virtual const Metadata& metadata() const = 0;
  virtual const TensorDirectory& tensors() const = 0;

  virtual std::string format() const = 0;     ///< for people: "GGUF version 3"
  virtual std::string_view name() const = 0;  ///< path of the first part, or of the folder
  virtual size_t part_count() const = 0;      ///< files with tensors
  virtual uint64_t file_bytes() const = 0;    ///< of all parts together

  /// Fills `out` with the bytes of `tensor`, a tensor of this model, from `begin` on (in bytes from
  /// the tensor's start). Requires begin + out.size() <= tensor.byte_count. Errors: kIo, also if
  /// the file has shrunk since it was opened. Cost: a copy; blocks of 1 MiB reach memory speed.
  virtual Status ReadTensor(const TensorInfo& tensor, uint64_t begin,
                            std::span<std::byte> out) const = 0;

  /// Tells the system that `length` bytes of `tensor` from `begin` on will not be read again
  /// (ByteSource::DropFromCache). Requires a range as ReadTensor does.
  virtual void DropTensor(const TensorInfo& tensor, uint64_t begin, uint64_t length) const = 0;
};

}  // namespace skald::formats
