#include "huggingface/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/exact_math.h"
#include "base/status_macros.h"
#include "formats/quote.h"
#include "tensor/half.h"

namespace skald::huggingface {
namespace {

using formats::StoredType;

uint64_t StoredElementBytes(StoredType type) {
  switch (type) {
    case StoredType::kF32: return 4;
    case StoredType::kF16:
    case StoredType::kBF16: return 2;
    default: return 1;
  }
}

uint64_t StoredRowBytes(const PlannedTensor& tensor) {
  if (tensor.coding == Coding::kMxfp4) return tensor.columns / kMxfp4Columns * kMxfp4NibbleBytes;
  return tensor.columns * StoredElementBytes(tensor.slices.front().values->tensor.type);
}

// Rows that a slice has where it is stored.
uint64_t StoredRows(const PlannedTensor& tensor) {
  const bool halves = tensor.change == Change::kEvenRows || tensor.change == Change::kOddRows;
  return halves ? 2 * tensor.rows : tensor.rows + tensor.skipped;
}

// Where value head `head` is stored: one of each key head in turn here, neighbours there.
uint64_t StoredHead(const ValueHeads& heads, uint64_t head) {
  return head % heads.key_heads * (heads.count / heads.key_heads) + head / heads.key_heads;
}

// Where row `row` of a slice is stored in it.
uint64_t StoredRow(const PlannedTensor& tensor, uint64_t row) {
  switch (tensor.change) {
    case Change::kEvenRows: return 2 * row;
    case Change::kOddRows: return 2 * row + 1;
    case Change::kSkipPadding: return row + tensor.skipped;
    case Change::kPairRows:
    case Change::kPairKvRows: {
      // Pair i of a head is rows i and i + half where it is stored, 2 i and 2 i + 1 here.
      const uint64_t head_rows = tensor.rows / tensor.heads;
      const uint64_t head = row / head_rows;
      const uint64_t inside = row % head_rows;
      return head * head_rows + inside % 2 * (head_rows / 2) + inside / 2;
    }
    case Change::kTurnValueHeads: {
      const ValueHeads& heads = tensor.value_heads;
      const uint64_t before = tensor.rows - heads.count * heads.size;
      if (row < before) return row;
      const uint64_t head = (row - before) / heads.size;
      return before + StoredHead(heads, head) * heads.size + (row - before) % heads.size;
    }
    default: return row;
  }
}

Status Read(const Parts& parts, const Stored& stored, uint64_t begin, std::span<std::byte> out) {
  CHECK(begin <= stored.tensor.bytes && out.size() <= stored.tensor.bytes - begin);
  const ByteSource& part = *parts[stored.part];
  Status status = part.ReadAt(stored.tensor.begin + begin, out);
  if (status.ok()) return status;
  return std::move(status).WithContext(
      fmt::format("{}: tensor {}", part.name(), formats::Quote(stored.tensor.name)));
}

float FloatAt(const std::byte* bytes, StoredType type) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, StoredElementBytes(type));
  switch (type) {
    case StoredType::kF16: return tensor::FloatFromHalf(static_cast<uint16_t>(word));
    case StoredType::kBF16: return tensor::FloatFromBf16(static_cast<uint16_t>(word));
    default: return std::bit_cast<float>(word);
  }
}

// E4M3 without infinities: the largest exponent is one of numbers, but for 0x7f, which is NaN
// (Micikevicius et al. 2022).
float FloatFromFp8(uint8_t byte) {
  constexpr uint8_t kNaN = 0x7f;
  if ((byte & kNaN) == kNaN) return std::nanf("");
  const float size = 2 * tensor::HalfOfE4M3(byte);  // exact
  return (byte & 0x80) != 0 ? -size : size;
}

void Store16(uint16_t value, std::byte* out) { std::memcpy(out, &value, sizeof(value)); }

// ---- one row, from its stored bytes ----

void ChangeValues(const PlannedTensor& tensor, const std::byte* stored, std::byte* out) {
  const StoredType type = tensor.slices.front().values->tensor.type;
  for (uint64_t i = 0; i < tensor.columns; ++i) {
    float value = FloatAt(stored + i * StoredElementBytes(type), type);
    if (tensor.values == Values::kAddOne) value += 1;
    if (tensor.values == Values::kMinusExp) value = -static_cast<float>(ExactExp(value));
    std::memcpy(out + i * sizeof(value), &value, sizeof(value));
  }
}

Status ScaleFp8(const Parts& parts, const PlannedTensor& tensor, const Slice& slice, uint64_t row,
                const std::byte* stored, std::byte* out) {
  const uint64_t blocks = (tensor.columns + tensor.scale_block - 1) / tensor.scale_block;
  std::vector<float> scales(blocks);
  RETURN_IF_ERROR(Read(parts, *slice.scales, row / tensor.scale_block * blocks * sizeof(float),
                       std::as_writable_bytes(std::span(scales))));
  for (uint64_t i = 0; i < tensor.columns; ++i) {
    const float value =
        FloatFromFp8(static_cast<uint8_t>(stored[i])) * scales[i / tensor.scale_block];
    Store16(tensor::Bf16FromFloat(value), out + 2 * i);
  }
  return Ok();
}

// Stored bytes hold neighbours, those of GGUF elements that are 16 apart; an exponent goes before.
Status JoinMxfp4(const Parts& parts, const PlannedTensor& tensor, const Slice& slice,
                 uint64_t place, const std::byte* stored, std::byte* out) {
  const uint64_t blocks = tensor.columns / kMxfp4Columns;
  std::vector<std::byte> exponents(blocks);
  RETURN_IF_ERROR(Read(parts, *slice.scales, place * blocks, exponents));
  const auto nibble = [&](uint64_t block, uint64_t element) {
    const std::byte both = stored[block * kMxfp4NibbleBytes + element / 2];
    return element % 2 == 0 ? both & std::byte{15} : both >> 4;
  };
  for (uint64_t block = 0; block < blocks; ++block) {
    std::byte* to = out + block * sizeof(tensor::BlockMXFP4);
    to[0] = exponents[block];
    for (uint64_t i = 0; i < kMxfp4NibbleBytes; ++i)
      to[1 + i] = nibble(block, i) | nibble(block, i + kMxfp4NibbleBytes) << 4;
  }
  return Ok();
}

// Moves the heads of a row whose columns are theirs.
void TurnColumns(const PlannedTensor& tensor, std::span<std::byte> row) {
  const ValueHeads& heads = tensor.value_heads;
  const std::vector<std::byte> stored(row.begin(), row.end());
  const size_t bytes = row.size() / heads.count;
  for (uint64_t head = 0; head < heads.count; ++head)
    std::memcpy(row.data() + head * bytes, stored.data() + StoredHead(heads, head) * bytes, bytes);
}

// Row `row` of slice `slice`, its columns as they are stored.
Status MakeRow(const Parts& parts, const PlannedTensor& tensor, const Slice& slice, uint64_t row,
               std::span<std::byte> out) {
  const uint64_t place = slice.first * StoredRows(tensor) + StoredRow(tensor, row);
  const uint64_t stored_bytes = StoredRowBytes(tensor);
  if (tensor.coding == Coding::kSame) return Read(parts, *slice.values, place * stored_bytes, out);
  std::vector<std::byte> stored(stored_bytes);
  RETURN_IF_ERROR(Read(parts, *slice.values, place * stored_bytes, stored));
  switch (tensor.coding) {
    case Coding::kToF32: ChangeValues(tensor, stored.data(), out.data()); break;
    case Coding::kFp8:
      return ScaleFp8(parts, tensor, slice, StoredRow(tensor, row), stored.data(), out.data());
    case Coding::kMxfp4: return JoinMxfp4(parts, tensor, slice, place, stored.data(), out.data());
    case Coding::kSame: break;
  }
  return Ok();
}

// Row `row` of slice `slice`.
Status ReadRow(const Parts& parts, const PlannedTensor& tensor, const Slice& slice, uint64_t row,
               std::span<std::byte> out) {
  RETURN_IF_ERROR(MakeRow(parts, tensor, slice, row, out));
  if (tensor.change == Change::kTurnValueColumns) TurnColumns(tensor, out);
  return Ok();
}

bool LiesAsStored(const PlannedTensor& tensor) {
  return tensor.coding == Coding::kSame && tensor.change == Change::kNone;
}

// A range inside of one slice that lies as it is stored.
Status CopyRange(const Parts& parts, const PlannedTensor& tensor, const Slice& slice,
                 uint64_t begin, std::span<std::byte> out) {
  const uint64_t slice_bytes = tensor.rows * RowBytes(tensor);
  return Read(parts, *slice.values, slice.first * slice_bytes + begin, out);
}

// The rows that a range inside of one slice meets, whole ones straight into their place.
Status MakeRange(const Parts& parts, const PlannedTensor& tensor, const Slice& slice,
                 uint64_t begin, std::span<std::byte> out) {
  const uint64_t row_bytes = RowBytes(tensor);
  std::vector<std::byte> cut;
  for (size_t done = 0; done < out.size();) {
    const uint64_t row = (begin + done) / row_bytes;
    const auto inside = static_cast<size_t>((begin + done) % row_bytes);
    const size_t count = std::min(out.size() - done, static_cast<size_t>(row_bytes) - inside);
    if (count == row_bytes) {
      RETURN_IF_ERROR(ReadRow(parts, tensor, slice, row, out.subspan(done, count)));
    } else {
      cut.resize(row_bytes);
      RETURN_IF_ERROR(ReadRow(parts, tensor, slice, row, cut));
      std::memcpy(out.data() + done, cut.data() + inside, count);
    }
    done += count;
  }
  return Ok();
}

}  // namespace

uint64_t RowBytes(const PlannedTensor& tensor) {
  const tensor::DTypeInfo& type = tensor::InfoOf(tensor.dtype);
  return tensor.columns / type.block_elements * type.block_bytes;
}

Status ReadPlanned(const Parts& parts, const PlannedTensor& tensor, uint64_t begin,
                   std::span<std::byte> out) {
  if (tensor.slices.empty()) {
    const auto bytes = std::as_bytes(std::span(tensor.computed));
    CHECK(begin <= bytes.size() && out.size() <= bytes.size() - begin);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
    return Ok();
  }
  const uint64_t slice_bytes = tensor.rows * RowBytes(tensor);
  CHECK(begin <= slice_bytes * tensor.slices.size() &&
        out.size() <= slice_bytes * tensor.slices.size() - begin);
  const auto read = LiesAsStored(tensor) ? CopyRange : MakeRange;
  for (size_t done = 0; done < out.size();) {
    const uint64_t inside = (begin + done) % slice_bytes;
    const size_t count = std::min(out.size() - done, static_cast<size_t>(slice_bytes - inside));
    const Slice& slice = tensor.slices[(begin + done) / slice_bytes];
    RETURN_IF_ERROR(read(parts, tensor, slice, inside, out.subspan(done, count)));
    done += count;
  }
  return Ok();
}

}  // namespace skald::huggingface
