// Portable C++, the specification: it has every function.

#include "kernels/activation/variants.h"
#include "kernels/attention/variants.h"
#include "kernels/conv/variants.h"
#include "kernels/delta/variants.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/mass/variants.h"
#include "kernels/matmul/variants.h"
#include "kernels/norm/variants.h"
#include "kernels/peak/variants.h"
#include "kernels/quantize/variants.h"
#include "kernels/rope/variants.h"
#include "kernels/scan/variants.h"
#include "kernels/uniform/variants.h"

namespace skald::kernels::scalar {
namespace {

void Install(KernelTable& table) {
  // A transposition, bound by memory: the same code for all.
  table.SetQuantize(ActivationFormat::kF32, QuantizeF32);
  table.SetQuantize(ActivationFormat::kBlock32, QuantizeBlock32);
  table.SetQuantize(ActivationFormat::kBlock128, QuantizeBlock128);
  table.SetQuantize(ActivationFormat::kBFloat16, QuantizeBFloat16);
  table.SetMatmul(MatmulFor);
  table.rms_norm = RmsNorm;
  table.layer_norm = LayerNorm;
  table.rope = Rope;
  table.swiglu = Swiglu;
  table.glu = Glu;
  table.geglu = Geglu;
  table.geglu_erf = GegluErf;
  table.swiglu_clamped = SwigluClamped;
  table.swiglu_limited = SwigluLimited;
  table.gelu = Gelu;
  table.gelu_erf = GeluErf;
  table.relu_squared = ReluSquared;
  table.soft_cap = SoftCap;
  table.add = Add;
  table.add_scaled = AddScaled;
  table.attention = Attention;
  table.append_kv = AppendKv;
  table.conv = Conv;
  table.delta = Delta;
  table.l2_norm = L2Norm;
  table.scan = Scan;
  table.mass = Mass;
  table.uniform = Uniform;
  table.peak = Peak();
}

}  // namespace

Isa Set() {
  return {.name = "scalar", .cpu_flags = "", .supported = [] { return true; }, .install = Install};
}

}  // namespace skald::kernels::scalar
