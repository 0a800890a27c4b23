#include "model/families/state_space.h"

#include <string>

#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {

Result<Mamba2> ReadMamba2(const Keys& keys, const Network& network) {
  Mamba2 mamba = {.width = network.width, .norm_epsilon = network.head.norm.epsilon};
  ASSIGN_OR_RETURN(mamba.heads, keys.Size("ssm.time_step_rank"));
  ASSIGN_OR_RETURN(mamba.state_dim, keys.Size("ssm.state_size"));
  ASSIGN_OR_RETURN(mamba.groups, keys.Size("ssm.group_count"));
  ASSIGN_OR_RETURN(mamba.taps, keys.Size("ssm.conv_kernel"));
  ASSIGN_OR_RETURN(const int64_t inner, keys.Size("ssm.inner_size"));
  // Before it divides.
  RETURN_IF_ERROR(InRange(keys.Spelled("ssm.time_step_rank"), mamba.heads, 1, kMaxHeads));
  if (inner % mamba.heads != 0) {
    return Status(ErrorCode::kBadModel, keys.Spelled("ssm.inner_size") + " is " +
                                            std::to_string(inner) + ", expected a multiple of " +
                                            std::to_string(mamba.heads) + " heads");
  }
  mamba.head_dim = inner / mamba.heads;
  return mamba;
}

}  // namespace skald::model
