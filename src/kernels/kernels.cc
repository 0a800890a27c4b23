#include "kernels/kernels.h"

#include <algorithm>

#include "base/check.h"

namespace skald::kernels {

void KernelTable::SetMatmul(MatmulFn (*function_of)(PanelType type)) {
  matmul_way.fill({});
  for (size_t i = 0; i < matmul.size(); ++i) matmul[i] = function_of(static_cast<PanelType>(i));
}

int KernelTable::least_panels(PanelType type, int64_t tokens) const {
  const auto least = [&](const SharedTokens& shared) {
    return tokens < shared.tokens ? 1 : shared.panels;
  };
  switch (type) {
    case PanelType::kF32:
    case PanelType::kF16: return 1;
    // Of one token four are computed at once.
    case PanelType::kBF16: return std::max(least(shared_bfloat16), 4);
    default: return least(shared_integers);
  }
}

KernelTable TableFor(const Isa& isa) {
  CHECK(isa.supported());
  KernelTable table;
  isa.install(table);
  table.isa_name = isa.name;
  return table;
}

}  // namespace skald::kernels
