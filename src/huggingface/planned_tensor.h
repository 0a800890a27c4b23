/// PlannedTensor: which stored tensors make up one of ours, and how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"
#include "huggingface/architecture.h"
#include "skald/status.h"
#include "tensor/dtype.h"
#include "tensor/quant_blocks.h"

namespace skald::huggingface {

/// Of a block of MXFP4: the bytes of its nibbles, and its columns. Exponents are stored apart.
inline constexpr uint64_t kMxfp4NibbleBytes = sizeof(tensor::BlockMXFP4::qs);
inline constexpr uint64_t kMxfp4Columns = 2 * kMxfp4NibbleBytes;

/// A tensor of one of the folder's files.
struct Stored {
  size_t part = 0;  ///< which file
  formats::StoredTensor tensor;
};

/// How stored bytes become ours.
enum class Coding : uint8_t {
  kSame,   ///< the same bytes
  kToF32,  ///< floats, as F32, whose values change
  kFp8,    ///< F8_E4M3 with a scale for each square block, as BF16
  kMxfp4,  ///< nibbles and exponents in two tensors, as blocks of GGUF
};

/// One slice of a tensor: an expert of a mixture, else all of it.
struct Slice {
  const Stored* values = nullptr;
  const Stored* scales = nullptr;  ///< kFp8, kMxfp4
  uint64_t first = 0;              ///< index of the slice in both
};

/// The value heads of a delta net (kTurnValueHeads, kTurnValueColumns).
struct ValueHeads {
  uint64_t key_heads = 0;
  uint64_t count = 0;  ///< a multiple of key_heads
  uint64_t size = 0;   ///< rows of a head, or its columns
};

/// One tensor of ours. What it reads is inside of the stored ones: their shapes were compared.
struct PlannedTensor {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<uint64_t> dims = {};  ///< GGUF order
  Coding coding = Coding::kSame;
  Change change = Change::kNone;
  Values values = Values::kAsStored;
  std::vector<Slice> slices = {};
  uint64_t rows = 0;     ///< of a slice, as read: a vector whose elements move has rows of one
  uint64_t columns = 0;  ///< of such a row
  uint64_t heads = 0;    ///< kPairRows, kPairKvRows
  ValueHeads value_heads = {};
  uint64_t skipped = 0;              ///< kSkipPadding: rows
  uint64_t scale_block = 0;          ///< kFp8: rows and columns that share a scale
  std::vector<float> computed = {};  ///< of a tensor that no file holds; then there are no slices
};

/// All stored tensors by their names, to find scales by.
using StoredByName = std::map<std::string_view, const Stored*>;

/// "tensor 'NAME': PROBLEM", of kind `code`.
Status TensorError(std::string_view name, std::string_view problem,
                   ErrorCode code = ErrorCode::kBadModel);

}  // namespace skald::huggingface
