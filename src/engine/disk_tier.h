/// DiskTier: the shelf of files and the tier of an engine that was given a folder.
#pragma once

#include <memory>

#include "engine/disk_shelf.h"
#include "engine/options.h"
#include "engine/page_tier.h"
#include "skald/disk_cache.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::engine {

/// What such an engine's pages are a function of, besides tokens and namespace: the model's bytes,
/// the numerics version, and how K and V are computed, kept and laid out. A text, one line each.
/// Errors: Model::Sha256, whose cost this is.
Result<std::string> PageIdentity(const Model& model, const ResolvedOptions& options);

/// Makes the folder serve records of this engine, whose network keeps them as it says. Errors:
/// kInvalidArgument for a network that keeps nothing of a prefix, a folder that is too small, or
/// one that serves an engine already; PageIdentity.
Status ServePages(DiskCache* folder, const Model& model, const ResolvedOptions& options,
                  const Network& network);

/// One for each engine, beside its cache and network. The shelf ends behind the tier that fills it.
class DiskTier {
 public:
  /// `folder` serves the engine's pages.
  DiskTier(std::shared_ptr<DiskCache> folder, CacheManager* cache, Network* network,
           const Clock* clock, Tracer* tracer)
      : folder_(std::move(folder)),
        shelf_(&folder_->files()),
        tier_({.shelf = shelf_,
               .cache = *cache,
               .network = *network,
               .clock = *clock,
               .tracer = tracer},
              folder_->files().kind().identity) {}

  PageTier& tier() { return tier_; }

 private:
  std::shared_ptr<DiskCache> folder_;
  DiskShelf shelf_;
  PageTier tier_;
};

}  // namespace skald::engine
