/// KernelTable: one function per operation, chosen once for the CPU at hand.
///
/// Every table computes the same bits; they differ in speed only. The contract of each operation
/// stands in its folder.
#pragma once

#include <array>
#include <string_view>

#include "kernels/activation/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/conv/conv.h"
#include "kernels/delta/delta.h"
#include "kernels/isa/isa.h"
#include "kernels/mass/mass.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/peak/peak.h"
#include "kernels/quantize/quantize.h"
#include "kernels/rope/rope.h"
#include "kernels/scan/scan.h"
#include "kernels/uniform/uniform.h"

namespace skald::kernels {

struct KernelTable {
  std::string_view isa_name;                                     ///< "avx512"
  std::array<QuantizeFn, kActivationFormatCount> quantize = {};  ///< by ActivationFormat
  std::array<MatmulFn, kPanelTypeCount> matmul = {};             ///< by PanelType
  /// By PanelType: which of several loops was found to be the fastest here; empty where there is
  /// one only. For people to read.
  std::array<std::string_view, kPanelTypeCount> matmul_way = {};
  /// Panels of a call that share the reading of its tokens, from so many tokens on.
  struct SharedTokens {
    int panels = 1;
    int64_t tokens = 0;
  };
  SharedTokens shared_integers;  ///< integer weights
  SharedTokens shared_bfloat16;
  RmsNormFn rms_norm = nullptr;
  LayerNormFn layer_norm = nullptr;
  RopeFn rope = nullptr;
  SwigluFn swiglu = nullptr;
  GluFn glu = nullptr;
  GegluFn geglu = nullptr;      ///< with tanh
  GegluFn geglu_erf = nullptr;  ///< with erf
  SwigluClampedFn swiglu_clamped = nullptr;
  SwigluLimitedFn swiglu_limited = nullptr;
  GeluFn gelu = nullptr;      ///< with tanh
  GeluFn gelu_erf = nullptr;  ///< with erf
  ReluSquaredFn relu_squared = nullptr;
  SoftCapFn soft_cap = nullptr;
  AddFn add = nullptr;
  AddScaledFn add_scaled = nullptr;
  AttentionFn attention = nullptr;
  AppendKvFn append_kv = nullptr;
  ConvFn conv = nullptr;
  DeltaFn delta = nullptr;
  L2NormFn l2_norm = nullptr;
  ScanFn scan = nullptr;
  MassFn mass = nullptr;
  UniformFn uniform = nullptr;
  PeakKernels peak;

  QuantizeFn QuantizeOf(ActivationFormat format) const {
    return quantize[static_cast<size_t>(format)];
  }
  MatmulFn MatmulOf(PanelType type) const { return matmul[static_cast<size_t>(type)]; }
  std::string_view MatmulWayOf(PanelType type) const {
    return matmul_way[static_cast<size_t>(type)];
  }
  /// Panels that a call of MatmulOf(type) for so many tokens should have at least, whatever their
  /// size.
  int least_panels(PanelType type, int64_t tokens) const;

  // For those who fill a table.
  void SetQuantize(ActivationFormat format, QuantizeFn function) {
    quantize[static_cast<size_t>(format)] = function;
  }
  /// Asks for the function of each type, of which there is one way.
  void SetMatmul(MatmulFn (*function_of)(PanelType type));
};

/// The table of `isa`. Requires isa.supported(): a variant that the CPU lacks must not be asked
/// for.
KernelTable TableFor(const Isa& isa);

}  // namespace skald::kernels
