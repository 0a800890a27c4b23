#include "engine/runner.h"

#include <utility>

#include "base/status_macros.h"
#include "engine/group_runner.h"
#include "engine/model_network.h"
#include "engine/ranked_runner.h"

namespace skald::engine {

Result<std::unique_ptr<Runner>> MakeRunner(const Model& model, const ResolvedOptions& options,
                                           std::shared_ptr<ThreadPool> threads) {
  if (model.group() != nullptr) {
    ASSIGN_OR_RETURN(auto ranks, GroupRunner::Create(model, options));
    return std::unique_ptr<Runner>(std::move(ranks));
  }
  if (model.parts().size() > 1) {
    ASSIGN_OR_RETURN(auto ranks, RankedRunner::Create(model.parts(), options));
    return std::unique_ptr<Runner>(std::move(ranks));
  }
  ASSIGN_OR_RETURN(auto network,
                   ModelNetwork::Create(model.transformer(), options, std::move(threads)));
  return std::unique_ptr<Runner>(std::move(network));
}

}  // namespace skald::engine
