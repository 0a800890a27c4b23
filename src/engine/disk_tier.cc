#include "engine/disk_tier.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "skald/engine.h"

namespace skald::engine {
namespace {

// Every member of a rope override that was set; a file's own ropes are part of its hash.
std::string RopeText(const RopeOverride& rope) {
  std::string text;
  const auto add = [&text](const char* name, const auto& value) {
    if (value) text += fmt::format(" {}={}", name, *value);
  };
  if (rope.stretch) text += fmt::format(" stretch={}", static_cast<int>(*rope.stretch));
  add("factor", rope.factor);
  add("base", rope.base);
  add("trained_context", rope.trained_context);
  add("extrapolation", rope.extrapolation);
  add("magnitude", rope.magnitude);
  add("beta_fast", rope.beta_fast);
  add("beta_slow", rope.beta_slow);
  return text;
}

std::string EndlessText(const Endless& endless) {
  if (!endless.exists()) return {};
  return fmt::format("endless {} {}\n", endless.sinks, endless.window);
}

}  // namespace

// The instruction set and the ranks change no number, but they may change where it stands in a
// page.
Result<std::string> PageIdentity(const Model& model, const ResolvedOptions& options) {
  ASSIGN_OR_RETURN(const std::string hash, model.Sha256());
  const ModelInfo& info = model.info();
  return fmt::format(
      "model {}\nnumerics {}\nconventions {}\nrope{}\n{}kv {} {}\nisa {}\nranks {}\n", hash,
      kNumericsVersion, static_cast<int>(info.conventions), RopeText(info.rope),
      EndlessText(info.endless), static_cast<int>(options.kv_types.keys),
      static_cast<int>(options.kv_types.values), options.isa.name, model.parts().size());
}

Status ServePages(DiskCache* folder, const Model& model, const ResolvedOptions& options,
                  const Network& network) {
  const int64_t record_bytes = RecordSizesOf(network, options.windows).record_bytes;
  if (record_bytes == 0 || options.whole_texts) {
    return Status(ErrorCode::kInvalidArgument,
                  "a cache on disk is for models that go on from a prefix: this one keeps nothing "
                  "of it, because it reads texts whole");
  }
  ASSIGN_OR_RETURN(const std::string identity, PageIdentity(model, options));
  return folder->files().Serve({.identity = disk::IdentityKey(identity),
                                .label = model.info().name,
                                .page_bytes = record_bytes});
}

}  // namespace skald::engine
