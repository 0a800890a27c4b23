// The instruction sets. A new one has a declaration and a line here.

#include "kernels/isa/isa.h"

namespace skald::kernels {

namespace scalar {
Isa Set();
}
namespace avx2 {
Isa Set();
}
namespace avxvnni {
Isa Set();
}
namespace avx512 {
Isa Set();
}
namespace amx {
Isa Set();
}

std::vector<Isa> AllIsas() {
  std::vector<Isa> isas = {scalar::Set()};
#if defined(__x86_64__)
  for (const auto set : {avx2::Set, avxvnni::Set, avx512::Set, amx::Set}) isas.push_back(set());
#endif
  return isas;
}

Isa ScalarIsa() { return scalar::Set(); }

std::optional<Isa> FindIsa(std::string_view name) {
  for (const Isa& isa : AllIsas()) {
    if (isa.name == name) return isa;
  }
  return std::nullopt;
}

Isa DetectIsa() {
  Isa best = ScalarIsa();
  for (const Isa& isa : AllIsas()) {
    if (isa.supported()) best = isa;
  }
  return best;
}

}  // namespace skald::kernels
