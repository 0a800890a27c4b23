#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"

namespace skald::huggingface {

// Each in its file of families/.
std::span<const Architecture> BertFolders();
std::span<const Architecture> Cohere2Folders();
std::span<const Architecture> DeepSeekFolders();
std::span<const Architecture> Exaone4Folders();
std::span<const Architecture> GemmaFolders();
std::span<const Architecture> Gemma4Folders();
std::span<const Architecture> Glm4MoeFolders();
std::span<const Architecture> GptOssFolders();
std::span<const Architecture> GraniteFolders();
std::span<const Architecture> Lfm2Folders();
std::span<const Architecture> LlamaFolders();
std::span<const Architecture> ModernBertFolders();
std::span<const Architecture> NomicBertFolders();
std::span<const Architecture> OlmoFolders();
std::span<const Architecture> Phi3Folders();
std::span<const Architecture> QwenFolders();
std::span<const Architecture> Qwen35Folders();
std::span<const Architecture> SeedOssFolders();
std::span<const Architecture> StarCoder2Folders();

namespace {

// One a line: they come one by one.
// clang-format off
constexpr std::array kFamilies = {
    BertFolders,
    Cohere2Folders,
    DeepSeekFolders,
    Exaone4Folders,
    GemmaFolders,
    Gemma4Folders,
    Glm4MoeFolders,
    GptOssFolders,
    GraniteFolders,
    Lfm2Folders,
    LlamaFolders,
    ModernBertFolders,
    NomicBertFolders,
    OlmoFolders,
    Phi3Folders,
    QwenFolders,
    Qwen35Folders,
    SeedOssFolders,
    StarCoder2Folders,
};
// clang-format on

std::string KnownTypes() {
  std::vector<std::string_view> types;
  for (const Architecture* architecture : Architectures()) {
    types.push_back(architecture->model_type);
    if (!architecture->other_type.empty()) types.push_back(architecture->other_type);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace

std::vector<const Architecture*> Architectures() {
  std::vector<const Architecture*> all;
  for (const auto family : kFamilies)
    for (const Architecture& architecture : family()) all.push_back(&architecture);
  return all;
}

Result<const Architecture*> FindArchitecture(const Config& config) {
  ASSIGN_OR_RETURN(const std::string_view type, config.Text("model_type"));
  if (!type.empty()) {  // which "no other name" would be
    for (const Architecture* architecture : Architectures()) {
      const bool is_type = type == architecture->model_type || type == architecture->other_type;
      if (is_type && (architecture->is_kind == nullptr || architecture->is_kind(config)))
        return architecture;
    }
  }
  return ConfigError("model_type",
                     fmt::format("is {}; as a folder this version runs {}; a GGUF file of the "
                                 "model may run (docs/models.md)",
                                 formats::Quote(type), KnownTypes()),
                     ErrorCode::kUnsupported);
}

}  // namespace skald::huggingface
