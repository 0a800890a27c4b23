/// Panels: weight matrices as the matmul kernels read them.
///
/// A panel holds 16 consecutive output rows of a matrix, so that one 32-bit vector lane is one
/// output element: no horizontal sums, and the same chain of operations per element at every vector
/// width. Inside a panel, bytes stand in the order in which the kernel reads them. Rows are padded
/// to a multiple of 16 with zero rows.
///
///     matrix [rows][cols]  ->  panel 0 (rows 0..15) | panel 1 (rows 16..31) | ...
///     panel                ->  unit 0 (columns 0..U-1) | unit 1 | ...          U = unit_cols
///
/// The columns of kBF16 need not be whole units: what lacks in the last one are zeros, and part of
/// the product (numerics 3.6).
///
/// A unit, by panel type (q are the *unsigned* integers, "offset" is what must be subtracted;
/// [k4][row][4] is the order of a block of 32 columns: 4 consecutive columns of row 0, of row 1,
/// ..., then the next 4 columns):
///
///     kF32   U 1    float w[16]
///     kF16   U 1    half w[16]
///     kBF16  U 32   {bfloat16 of column k, of column 16 + k}[k][row]  1024 bytes
///     kQ8    U 32   half d[16]; u8 q[8][16][4]                        offset 128
///                   (Q8_0)                                            544 bytes
///     kQ5    U 32   half d[16]; u8 nibbles[4][16][4], high[64]        offset 16
///                   (Q5_0)                                            352 bytes
///     kQ5M   U 32   half d[16]; half m[16];                           offset 0, min
///                   u8 nibbles[4][16][4], high[64]
///                   (Q5_1)                                            384 bytes
///     kQ4    U 32   half d[16]; u8 nibbles[4][16][4]                  offset 8
///                   (Q4_0)                                            288 bytes
///     kQ4M   U 32   half d[16]; half m[16]; u8 nibbles[4][16][4]      offset 0, min
///                   (Q4_1)                                            320 bytes
///     kI4NL  U 32   half d[16]; u8 nibbles[4][16][4]                  table
///                   (IQ4_NL)                                          288 bytes
///     kMX4   U 32   u8 e[16]; u8 nibbles[4][16][4]                    table
///                   (MXFP4)                                           272 bytes
///     kNV4   U 64   u8 d[4][16]; u8 nibbles[2][4][16][4]              table, 16-wide
///                   (NVFP4)                                           576 bytes
///     kQ4K   U 256  half d[16]; half dmin[16]; u8 scales[192];        offset 0, 32-wide, min
///                   u8 nibbles[8][4][16][4]                           2304 bytes
///     kQ5K   U 256  as kQ4K, each block followed by its fifth bits:   offset 0, 32-wide, min
///                   {nibbles[4][16][4], high[64]}[8]                  2816 bytes
///     kQ6K   U 256  half d[16]; 32 bytes of padding;                  offset 32, 16-wide
///                   i8 scales[16][16]; {low[4][16][4], high[128]}[8]
///                   (Q6_K)                                            3392 bytes
///     kI4XS  U 256  half d[16]; 32 bytes of padding;                  table, 32-wide
///                   i8 scales[8][16]; u8 nibbles[8][4][16][4]
///                   (IQ4_XS)                                          2240 bytes
///     kQ2K   U 256  half d[16]; half dmin[16]; u8 scales[8][16][2];   offset 0, 16-wide, min
///                   u8 q[8][2][16][4]
///                   (Q2_K)                                            1344 bytes
///     kQ3K   U 256  half d[16]; 32 bytes of padding;                  offset 4, 16-wide
///                   i8 scales[16][16]; {q[2][16][4], high[64]}[8]
///                   (Q3_K)                                            1856 bytes
///     kI2*   U 256  half d[16]; {u8 low[4][16]; high[16];             codebook, 16-wide
///                   scales[16]; u64 signs[8]}[8]
///                   (kI2XXS, kI2XS, kI2S: IQ2_XXS, IQ2_XS, IQ2_S)     1312 bytes
///     kI3*   U 256  half d[16]; {u8 low[8][16]; high[16];             codebook, 16-wide
///                   scales[16]; u64 signs[8]}[8]
///                   (kI3XXS, kI3S: IQ3_XXS, IQ3_S)                    1824 bytes
///     kI1    U 256  half d[16]; {u8 low[4][16]; high[2][16];          codebook, 16-wide
///                   scales[16]}[8]
///                   (IQ1_S, IQ1_M)                                    928 bytes
///     kT2    U 256  half d[16]; u8 q[8][2][16][4]                     offset 1, no scales
///                   (TQ1_0, TQ2_0)                                    1056 bytes
///     kQ2    U 64   half d[16]; u8 q[2][2][16][4]                     offset 1
///                   (Q2_0)                                            288 bytes
///     kQ1    U 128  half d[16]; u64 bits[4][8]                        offset 1, twice the bit
///                   (Q1_0)                                            288 bytes
///
/// The nibbles of kI4NL and kI4XS are indices into kIQ4Values, those of kMX4 and kNV4 into
/// kMXFP4Values (tensor/quant_blocks.h), and the scales of the latter two are 2^(e - 128) and
/// HalfOfE4M3 (tensor/half.h): numbers of any offset are a look-up away, so each kernel chooses its
/// own.
///
/// Nibbles: byte j of [4][16][4] holds column group k4 = j in its low and k4 = j + 4 in its high
/// half. The exact bit arrangement of scales[192] (6-bit scale and minimum of 8 blocks x 16 rows),
/// of the high-bit planes, of indices, signs and fields of 1 and 2 bits is stated in
/// pack/unit_layout.h, beside the structs. Codebook: the kernels look the entries up
/// (tensor/codebooks.h).
///
/// Every type has as many bits a weight as the GGUF block it comes from, within 6 % for the K types
/// and a quarter for the codebooks and kT2: docs/decisions/0004-panel-types.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "skald/status.h"
#include "tensor/dtype.h"

namespace skald::kernels {

/// Rows of a panel: the lanes of a 512-bit vector.
inline constexpr int kPanelRows = 16;

enum class PanelType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8,
  kQ5,
  kQ5M,
  kQ4,
  kQ4M,
  kI4NL,
  kMX4,
  kQ4K,
  kQ5K,
  kQ6K,
  kI4XS,
  kQ2K,
  kQ3K,
  kI2XXS,
  kI2XS,
  kI2S,
  kI3XXS,
  kI3S,
  kI1,
  kT2,
  kQ1,
  kQ2,
  kNV4,
};
inline constexpr int kPanelTypeCount = 26;

/// How the activations must be prepared for a panel type (docs/numerics.md 3.5; layouts in
/// quantize/quantize.h).
enum class ActivationFormat : uint8_t { kF32, kBlock32, kBlock128, kBFloat16 };
inline constexpr int kActivationFormatCount = 4;

struct PanelInfo {
  PanelType type;
  ActivationFormat activation;
  int unit_cols;   ///< columns of one unit
  int unit_bytes;  ///< bytes of one unit (16 rows)
};

/// The row of the table for `type`.
const PanelInfo& InfoOf(PanelType type);

/// The panel type that holds a stored element type exactly.
PanelType PanelTypeFor(tensor::DType dtype);

/// Bytes of one packed panel of `cols` columns. Requires cols to be a multiple of the unit, but for
/// kBF16, whose last unit may be filled up with zeros.
int64_t PanelBytes(PanelType type, int64_t cols);

/// A packed weight matrix, or a view of consecutive panels of one. Does not own its bytes.
struct PackedMatrix {
  PanelType type = PanelType::kF32;
  int64_t rows = 0;                   ///< output elements, before padding
  int64_t cols = 0;                   ///< input elements; whole units, but for kBF16
  const std::byte* panels = nullptr;  ///< 64-byte aligned
  /// The matrix is this times what the panels hold. UnpackRow multiplies; of a product the caller
  /// does, once it is summed up (numerics 3.6).
  float factor = 1;

  int64_t panel_count() const { return (rows + kPanelRows - 1) / kPanelRows; }
  int64_t panel_bytes() const { return PanelBytes(type, cols); }
  /// Rows including the padding: the length of an output row of the matmul.
  int64_t padded_rows() const { return panel_count() * kPanelRows; }
};

/// Packs up to 16 stored rows into one panel.
///   source     `row_count` rows of `cols` elements of `dtype`, consecutive, as in the file
///   row_count  1..16
///   panel      PanelBytes(PanelTypeFor(dtype), cols) bytes; rows past row_count become zero rows.
///              Consecutive panels of a 64-byte aligned matrix are 16-byte aligned at least, and
///              no kernel asks for more
/// Requires cols to be a multiple of the dtype's block. Any thread; one pass over the source. NaN
/// or infinite scales are packed as they are.
void PackPanel(tensor::DType dtype, std::span<const std::byte> source, int row_count, int64_t cols,
               std::byte* panel);

/// The panel type that holds the transpose of a matrix of such elements. The blocks of quantized
/// types lie along the rows, so that no column has one: these become floats, exactly
/// (docs/decisions/0016).
PanelType TransposedPanelTypeFor(tensor::DType dtype);

/// Packs a stored row as one column of a matrix, whose other columns may be packed at the same
/// time.
///   source   matrix.rows elements of `dtype`, as in the file
///   matrix   of type TransposedPanelTypeFor(dtype); its rows past the last become zero
///   panels   those of the matrix; what fills its last unit up becomes zero with the last column
void PackColumn(tensor::DType dtype, std::span<const std::byte> source, const PackedMatrix& matrix,
                int64_t column, std::byte* panels);

/// Dequantizes one row of a packed matrix, with its factor (numerics 3.8): out[0..cols). The
/// embedding look-up.
void UnpackRow(const PackedMatrix& matrix, int64_t row, float* out);

}  // namespace skald::kernels
