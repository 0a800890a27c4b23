#include <algorithm>
#include <variant>
#include <vector>

#include "engine/options.h"
#include "model/network.h"
#include "skald/model_shape.h"

namespace skald {
namespace {

KvGroup GroupOf(const model::Mixer& mixer, const kv::KvShape& shape) {
  KvGroup group = {.kind = "full",
                   .layers = 1,
                   .kv_heads = shape.kv_heads,
                   .key_dim = shape.key_dim,
                   .value_dim = shape.value_dim};
  if (shape.values == kernels::ValuePlace::kInKeys) {
    group.kind = "latent";
    group.value_dim = 0;
  }
  const auto* mla = std::get_if<model::Mla>(&mixer);
  if (mla != nullptr && mla->window > 0) group.window = mla->window + mla->pinned;
  const auto* gqa = std::get_if<model::Gqa>(&mixer);
  if (gqa != nullptr && gqa->window > 0) {
    group.kind = "window";
    group.window = gqa->window + gqa->pinned;
  } else if (gqa != nullptr && gqa->chunk > 0) {
    group.kind = "chunk";
    group.window = gqa->chunk;
  }
  return group;
}

bool Alike(const KvGroup& a, const KvGroup& b) {
  return a.kind == b.kind && a.window == b.window && a.kv_heads == b.kv_heads &&
         a.key_dim == b.key_dim && a.value_dim == b.value_dim;
}

}  // namespace

std::vector<KvGroup> ModelShape::KvGroups(KvCacheTypes types) const {
  std::vector<KvGroup> groups;
  for (const model::Layer& layer : network().layers) {
    for (const model::Mixer* mixer : {&layer.mixer, &layer.beside}) {
      const kv::KvShape shape = std::visit([](const auto& block) { return Cache(block); }, *mixer);
      if (shape.IsNone()) continue;
      KvGroup one = GroupOf(*mixer, shape);
      one.position_bytes = shape.position_bytes(engine::KvTypesOf(types));
      const auto same = std::find_if(groups.begin(), groups.end(),
                                     [&](const KvGroup& group) { return Alike(group, one); });
      if (same == groups.end()) {
        groups.push_back(one);
      } else {
        ++same->layers;
        same->position_bytes += one.position_bytes;
      }
    }
  }
  return groups;
}

}  // namespace skald
