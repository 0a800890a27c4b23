#include "engine/runner.h"

#include <utility>

#include "base/status_macros.h"
#include "engine/model_network.h"

namespace skald::engine {

Result<std::unique_ptr<Runner>> MakeRunner(const Model& model, const ResolvedOptions& options,
                                           std::shared_ptr<ThreadPool> threads) {
  ASSIGN_OR_RETURN(auto network,
                   ModelNetwork::Create(model.transformer(), options, std::move(threads)));
  return std::unique_ptr<Runner>(std::move(network));
}

}  // namespace skald::engine
