#include "model/work.h"

namespace skald::model {

Work Essential(const StepWork& work) {
  Work sum;
  for (const Phase phase :
       {Phase::kQkv, Phase::kOutput, Phase::kRoute, Phase::kGateUp, Phase::kDown, Phase::kHead}) {
    sum.Add(work[phase]);
  }
  sum.bytes += work[Phase::kAttention].bytes + work[Phase::kRecurrence].bytes;
  return sum;
}

}  // namespace skald::model
