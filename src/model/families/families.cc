#include "model/families/families.h"

#include <array>

#include "base/status_macros.h"

namespace skald::model {

// Each in its file.
Result<Network> AfMoe(const Keys& keys);
Result<Network> BailingMoe2(const Keys& keys);
Result<Network> Bert(const Keys& keys);
Result<Network> Cohere2(const Keys& keys);
Result<Network> CommandR(const Keys& keys);
Result<Network> DeepSeek(const Keys& keys);
Result<Network> DeepSeek2(const Keys& keys);
Result<Network> DeepSeek32(const Keys& keys);
Result<Network> Dots1(const Keys& keys);
Result<Network> Ernie45Moe(const Keys& keys);
Result<Network> Exaone4(const Keys& keys);
Result<Network> ExaoneMoe(const Keys& keys);
Result<Network> FalconH1(const Keys& keys);
Result<Network> Gemma2(const Keys& keys);
Result<Network> Gemma3(const Keys& keys);
Result<Network> Gemma3n(const Keys& keys);
Result<Network> Gemma4(const Keys& keys);
Result<Network> GemmaEmbedding(const Keys& keys);
Result<Network> Glm4(const Keys& keys);
Result<Network> Glm4Moe(const Keys& keys);
Result<Network> GlmDsa(const Keys& keys);
Result<Network> Gpt2(const Keys& keys);
Result<Network> GptOss(const Keys& keys);
Result<Network> Granite(const Keys& keys);
Result<Network> GraniteHybrid(const Keys& keys);
Result<Network> GraniteMoe(const Keys& keys);
Result<Network> HunyuanMoe(const Keys& keys);
Result<Network> HyV3(const Keys& keys);
Result<Network> InternLm2(const Keys& keys);
Result<Network> JinaBertV2(const Keys& keys);
Result<Network> KimiLinear(const Keys& keys);
Result<Network> Lfm2(const Keys& keys);
Result<Network> Lfm2Moe(const Keys& keys);
Result<Network> Llama(const Keys& keys);
Result<Network> Llama4(const Keys& keys);
Result<Network> Mimo2(const Keys& keys);
Result<Network> MiniMaxM2(const Keys& keys);
Result<Network> Mistral3(const Keys& keys);
Result<Network> Mistral4(const Keys& keys);
Result<Network> ModernBert(const Keys& keys);
Result<Network> NemotronH(const Keys& keys);
Result<Network> NemotronHMoe(const Keys& keys);
Result<Network> NomicBert(const Keys& keys);
Result<Network> NomicBertMoe(const Keys& keys);
Result<Network> Olmo2(const Keys& keys);
Result<Network> OlMoE(const Keys& keys);
Result<Network> Phi2(const Keys& keys);
Result<Network> Phi3(const Keys& keys);
Result<Network> PureMamba2(const Keys& keys);
Result<Network> Qwen2(const Keys& keys);
Result<Network> Qwen2Moe(const Keys& keys);
Result<Network> Qwen3(const Keys& keys);
Result<Network> Qwen35(const Keys& keys);
Result<Network> Qwen35Moe(const Keys& keys);
Result<Network> Qwen3Moe(const Keys& keys);
Result<Network> Qwen3Next(const Keys& keys);
Result<Network> SeedOss(const Keys& keys);
Result<Network> SmolLm3(const Keys& keys);
Result<Network> StableLm(const Keys& keys);
Result<Network> StarCoder2(const Keys& keys);
Result<Network> Step35(const Keys& keys);

namespace {

struct Family {
  std::string_view name;  // general.architecture
  Result<Network> (*read)(const Keys& keys);
};

// One a line: families come one by one.
// clang-format off
constexpr std::array kFamilies = {
    Family{"afmoe", AfMoe},
    Family{"bailingmoe2", BailingMoe2},
    Family{"bert", Bert},
    Family{"cohere2", Cohere2},
    Family{"command-r", CommandR},
    Family{"deepseek", DeepSeek},
    Family{"deepseek2", DeepSeek2},
    Family{"deepseek32", DeepSeek32},
    Family{"dots1", Dots1},
    Family{"ernie4_5-moe", Ernie45Moe},
    Family{"exaone-moe", ExaoneMoe},
    Family{"exaone4", Exaone4},
    Family{"falcon-h1", FalconH1},
    Family{"gemma-embedding", GemmaEmbedding},
    Family{"gemma2", Gemma2},
    Family{"gemma3", Gemma3},
    Family{"gemma3n", Gemma3n},
    Family{"gemma4", Gemma4},
    Family{"glm4", Glm4},
    Family{"glm4moe", Glm4Moe},
    Family{"glm-dsa", GlmDsa},
    Family{"gpt-oss", GptOss},
    Family{"gpt2", Gpt2},
    Family{"granite", Granite},
    Family{"granitehybrid", GraniteHybrid},
    Family{"granitemoe", GraniteMoe},
    Family{"hunyuan-moe", HunyuanMoe},
    Family{"hy_v3", HyV3},
    Family{"internlm2", InternLm2},
    Family{"jina-bert-v2", JinaBertV2},
    Family{"kimi-linear", KimiLinear},
    Family{"lfm2", Lfm2},
    Family{"lfm2moe", Lfm2Moe},
    Family{"llama", Llama},
    Family{"llama4", Llama4},
    Family{"mamba2", PureMamba2},
    Family{"mimo2", Mimo2},
    Family{"minimax-m2", MiniMaxM2},
    Family{"mistral3", Mistral3},
    Family{"mistral4", Mistral4},
    Family{"modern-bert", ModernBert},
    Family{"nemotron_h", NemotronH},
    Family{"nemotron_h_moe", NemotronHMoe},
    Family{"nomic-bert", NomicBert},
    Family{"nomic-bert-moe", NomicBertMoe},
    Family{"olmo2", Olmo2},
    Family{"olmoe", OlMoE},
    Family{"phi2", Phi2},
    Family{"phi3", Phi3},
    Family{"qwen2", Qwen2},
    Family{"qwen2moe", Qwen2Moe},
    Family{"qwen3", Qwen3},
    Family{"qwen35", Qwen35},
    Family{"qwen35moe", Qwen35Moe},
    Family{"qwen3moe", Qwen3Moe},
    Family{"qwen3next", Qwen3Next},
    Family{"seed_oss", SeedOss},
    Family{"smollm3", SmolLm3},
    Family{"stablelm", StableLm},
    Family{"starcoder2", StarCoder2},
    Family{"step35", Step35},
};
// clang-format on

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
                                             "; docs/models.md says what of each)");
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
