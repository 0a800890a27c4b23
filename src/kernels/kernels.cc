#include "kernels/kernels.h"

#include "base/check.h"

namespace skald::kernels {

void KernelTable::SetMatmul(MatmulFn (*function_of)(PanelType type)) {
  matmul_way.fill({});
  for (size_t i = 0; i < matmul.size(); ++i) matmul[i] = function_of(static_cast<PanelType>(i));
}

KernelTable TableFor(const Isa& isa) {
  CHECK(isa.supported());
  KernelTable table;
  isa.install(table);
  table.isa_name = isa.name;
  return table;
}

}  // namespace skald::kernels
