/// How the usage of an answer tells which tokens of its prompts were found in the cache.
#pragma once

#include "base/json_writer.h"
#include "skald/request.h"

namespace skald::server {

/// An object of tiers: tokens by where they came from.
inline void WriteTiers(const CachedTokens& cached, JsonWriter& json) {
  json.BeginObject().Key("memory").Int(cached.memory).Key("snapshot").Int(cached.snapshot);
  json.Key("disk").Int(cached.disk).EndObject();
}

/// The members "cached_tokens" and "cached_tokens_details", which are the tiers.
inline void WriteCachedTokens(const CachedTokens& cached, JsonWriter& json) {
  json.Key("cached_tokens").Int(cached.total()).Key("cached_tokens_details");
  WriteTiers(cached, json);
}

}  // namespace skald::server
