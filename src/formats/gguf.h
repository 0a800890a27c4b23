/// GGUF: reads model files, one or a split set, that may come from anywhere.
///
/// The header (keys and tensor table) is copied from the file once and proven while it is read;
/// tensor data is read later, block by block, on request. Nothing is allocated from a number of the
/// file before that number is bounded by the bytes that are really there, so a parse costs at most
/// 4 times the header's bytes of memory and time linear in them (n log n for the indices).
///
/// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3,
/// little-endian. Where the specification leaves room, this reader decides as follows.
///
/// Refused (kBadModel unless said otherwise):
/// - keys and tensor names that are empty or hold anything but printable ASCII (NUL, UTF-8);
///   keys over 65,535 and tensor names over 64 bytes; a key or a tensor name that stands twice;
/// - bools other than 0 and 1; arrays of arrays;
/// - `general.alignment` that is not a uint32, a power of two, between 8 and 1 MiB;
/// - tensors without dimensions, with more than 4, with a dimension of 0; rows that are no whole
///   number of blocks; element types skald does not read (kUnsupported);
/// - tensor data that overlaps, leaves gaps other than alignment padding, or is not in the order of
///   the table; data beyond the end of the file;
/// - more than any of the limits below.
/// Accepted: string values of any bytes (also NUL and invalid UTF-8) and of no bytes; arrays of
/// length 0; no tensors at all (vocabulary files); bytes after the last tensor, however many.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "formats/metadata.h"
#include "formats/model_file.h"
#include "formats/tensor_directory.h"
#include "skald/status.h"

namespace skald::formats {

// Limits. Each is several times what the largest published model needs, and small enough that a
// file at all limits is still read in well under a second.
inline constexpr uint64_t kHeaderBytesMax = 128u << 20;  ///< keys and table; largest seen: 20 MB
inline constexpr uint64_t kKeysMax = 65536;              ///< largest seen: about 60
inline constexpr uint64_t kTensorsMax = 65536;           ///< largest seen: about 2,000
inline constexpr uint64_t kKeyBytesMax = 65535;          ///< the specification's limit
inline constexpr uint64_t kTensorNameBytesMax = 64;      ///< the specification's limit
inline constexpr uint64_t kStringBytesMax = 4u << 20;    ///< chat templates; largest seen: 60 KB
inline constexpr uint64_t kArrayLengthMax = 4u << 20;    ///< merges; largest seen: 514,906
inline constexpr uint64_t kAlignmentMin = 8;             ///< the specification's limit
inline constexpr uint64_t kAlignmentMax = 1u << 20;
inline constexpr uint64_t kAlignmentDefault = 32;  ///< of the specification
inline constexpr uint64_t kSplitPartsMax = 512;    ///< half the descriptors a process may hold

/// What one GGUF file holds, except its tensor data.
struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = kAlignmentDefault;
  uint64_t data_begin = 0;  ///< offset of the data section in the file
  Metadata metadata;
  TensorDirectory tensors;
};

/// Reads and proves the header of `source`. Reads no tensor data: showing a 50 GB file is as cheap
/// as showing a small one. Errors: kBadModel or kUnsupported, "NAME: what is wrong, expected,
/// found, at which offset"; kIo if a read fails; kResourceExhausted if the header's memory is
/// refused.
Result<GgufFile> ParseGguf(const ByteSource& source);

/// A complete model: one file, or all parts of a split one under one directory. Keeps the files
/// open. Movable.
class GgufModel final : public ModelFile {
 public:
  /// Opens the model at `path`. If the file says that it is part of a split model, it must be the
  /// first part and be called PREFIX-00001-of-NNNNN.gguf; the other parts are opened beside it, at
  /// names made from `path` alone, never from the file's content. Errors: those of File::Open and
  /// ParseGguf; kBadModel if the parts do not belong together, if `general.architecture` is missing
  /// or not a plain name ([a-z0-9_.-], at most 64 bytes); kNotFound for a missing part.
  static Result<GgufModel> Open(const std::string& path);

  /// As Open, from sources in the order of the parts; for tests and other storage. Requires at
  /// least one source, at most kSplitPartsMax.
  static Result<GgufModel> FromSources(std::vector<std::unique_ptr<ByteSource>> sources);

  /// The keys of the first part; the others hold none but their place in the set.
  const Metadata& metadata() const override { return metadata_; }
  const TensorDirectory& tensors() const override { return tensors_; }

  uint32_t version() const { return version_; }      ///< of the first part
  uint64_t alignment() const { return alignment_; }  ///< of the first part
  std::string format() const override { return "GGUF version " + std::to_string(version_); }
  std::string_view name() const override { return parts_.front()->name(); }
  size_t part_count() const override { return parts_.size(); }
  uint64_t file_bytes() const override;
  Status ReadTensor(const TensorInfo& tensor, uint64_t begin,
                    std::span<std::byte> out) const override;
  void DropTensor(const TensorInfo& tensor, uint64_t begin, uint64_t length) const override;

 private:
  GgufModel() = default;

  static Result<GgufModel> Assemble(std::vector<std::unique_ptr<ByteSource>> sources,
                                    std::vector<GgufFile> files);

  std::vector<std::unique_ptr<ByteSource>> parts_;
  Metadata metadata_;
  TensorDirectory tensors_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 0;
};

}  // namespace skald::formats
