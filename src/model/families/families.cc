#include "model/families/families.h"

#include <array>

#include "base/status_macros.h"

namespace skald::model {

// Each in its file.
Result<Network> InternLm2(const Keys& keys);
Result<Network> Llama(const Keys& keys);
Result<Network> Qwen2(const Keys& keys);
Result<Network> Qwen3(const Keys& keys);
Result<Network> Qwen3Moe(const Keys& keys);
Result<Network> SeedOss(const Keys& keys);
Result<Network> SmolLm3(const Keys& keys);

namespace {

struct Family {
  std::string_view name;  // general.architecture
  Result<Network> (*read)(const Keys& keys);
};

constexpr std::array kFamilies = {
    Family{"internlm2", InternLm2}, Family{"llama", Llama},       Family{"qwen2", Qwen2},
    Family{"qwen3", Qwen3},         Family{"qwen3moe", Qwen3Moe}, Family{"seed_oss", SeedOss},
    Family{"smollm3", SmolLm3},
};

}  // namespace

Result<Network> ReadNetwork(std::string_view architecture, const Keys& keys) {
  for (const Family& family : kFamilies) {
    if (family.name != architecture) continue;
    ASSIGN_OR_RETURN(Network network, family.read(keys));
    network.family = family.name;
    RETURN_IF_ERROR(Validate(network));
    return network;
  }
  return Status(ErrorCode::kUnsupported, "architecture '" + std::string(architecture) +
                                             "' is not supported (supported: " + FamilyNames() +
                                             ")");
}

std::string FamilyNames() {
  std::string names;
  for (const Family& family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family.name;
  }
  return names;
}

}  // namespace skald::model
