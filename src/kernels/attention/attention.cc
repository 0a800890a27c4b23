#include "kernels/attention/attention.h"

#include "kernels/attention/attention_layout.h"

namespace skald::kernels {

int64_t AttentionScratchFloats(int key_dim, int value_dim, int group) {
  return LayOutScratch(key_dim, value_dim, group).size;
}

}  // namespace skald::kernels
