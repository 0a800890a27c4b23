#include "skald/model_shape.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/status_macros.h"
#include "engine/bench_work.h"
#include "formats/model_file.h"
#include "huggingface/config_keys.h"
#include "load/bind_weights.h"
#include "load/network_from_gguf.h"
#include "load/open_model.h"
#include "model/endless.h"
#include "model/network.h"
#include "model/split.h"
#include "plan/named_shapes.h"
#include "plan/paper.h"
#include "skald/model.h"

namespace skald {

struct ModelShape::State {
  ShapeInfo info;
  model::Network network;
};

ModelShape::ModelShape(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const ShapeInfo& ModelShape::info() const { return state_->info; }
const model::Network& ModelShape::network() const { return state_->network; }

namespace {

namespace fs = std::filesystem;
using formats::TensorDirectory;
using formats::TensorInfo;

constexpr std::string_view kConfig = "config.json";
constexpr uint64_t kConfigBytesMax = 16u << 20;  // largest seen: 30 KB

std::vector<WeightType> WeightsOf(const TensorDirectory& tensors) {
  std::map<tensor::DType, WeightType> by_type;
  for (const TensorInfo& tensor : tensors.all()) {
    WeightType& weights = by_type[tensor.dtype];
    weights.type = tensor::InfoOf(tensor.dtype).name;
    ++weights.tensors;
    weights.parameters += static_cast<int64_t>(tensor.columns() * tensor.rows());
    weights.file_bytes += static_cast<int64_t>(tensor.byte_count);
  }
  std::vector<WeightType> all;
  for (auto& [type, weights] : by_type) all.push_back(std::move(weights));
  std::stable_sort(all.begin(), all.end(), [](const WeightType& a, const WeightType& b) {
    return a.file_bytes > b.file_bytes;
  });
  return all;
}

// What a row of a decode step is multiplied with.
int64_t ActiveParameters(const model::Network& network) {
  const kv::KvLayout layout = model::KvLayoutOf(network, kernels::KvType::kF16);
  const model::Work work = model::Essential(
      engine::WorkOf(network, {.layout = layout, .max_chunk = 1}, {.decode_tokens = 1}));
  return static_cast<int64_t>(work.int8_macs + work.bfloat16_macs + work.float_macs);
}

bool HasState(const model::Mixer& mixer) {
  return std::visit([](const auto& block) { return StateFloats(block) > 0; }, mixer);
}

void AddNetwork(const model::Network& network, ShapeInfo* info) {
  info->architecture = network.family;
  info->layers = static_cast<int64_t>(network.layers.size());
  info->width = network.width;
  info->vocab = network.vocab;
  info->context = network.context;
  info->generates = !model::NeedsWholeTexts(network);
  info->state_bytes = model::StateFloatsOf(network) * int64_t{sizeof(float)};
  for (const model::Layer& layer : network.layers) {
    info->state_layers += int64_t{HasState(layer.mixer) || HasState(layer.beside)};
  }
  info->active_parameters = ActiveParameters(network);
}

// The shape of a network whose tensors are `tensors`, in the types that are wanted.
Result<ModelShape> Finish(model::Network network, TensorDirectory tensors,
                          const ShapeOptions& options, ShapeInfo info) {
  if (!options.weights.empty()) {
    ASSIGN_OR_RETURN(tensors, plan::InOtherTypes(tensors, options.weights));
  }
  if (options.ranks < 1 || options.ranks > kMaxRanks || options.rank < 0 ||
      options.rank >= options.ranks) {
    return Status(ErrorCode::kInvalidArgument,
                  "rank " + std::to_string(options.rank) + " of " + std::to_string(options.ranks) +
                      ", expected one of 1 to " + std::to_string(kMaxRanks) + " ranks");
  }
  info.ranks = options.ranks;
  RETURN_IF_ERROR(model::MakeEndless(options.endless, &network));
  if (options.ranks > 1) {
    RETURN_IF_ERROR(model::Split({.index = options.rank, .count = options.ranks}, &network));
  }
  auto state = std::make_shared<ModelShape::State>(
      ModelShape::State{.info = std::move(info), .network = std::move(network)});
  ASSIGN_OR_RETURN(const auto bindings, load::BindTensors(state->network, tensors));
  RETURN_IF_ERROR(load::DescribeMatrices(bindings, &state->network));
  state->info.weight_bytes = load::PackedBytes(bindings);
  state->info.weights = WeightsOf(tensors);
  for (const WeightType& weights : state->info.weights) {
    state->info.parameters += weights.parameters;
  }
  AddNetwork(state->network, &state->info);
  return ModelShape(std::move(state));
}

// Of keys without tensors; `known`: what is known of their names.
Result<ModelShape> OnPaper(const formats::Metadata& metadata, const TensorDirectory& known,
                           const plan::PaperTypes& types, const ShapeOptions& options,
                           ShapeInfo info) {
  ASSIGN_OR_RETURN(model::Network network, load::NetworkFromGguf(metadata, known));
  ASSIGN_OR_RETURN(TensorDirectory tensors, plan::PaperTensors(network, types));
  return Finish(std::move(network), std::move(tensors), options, std::move(info));
}

Result<std::string> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, File::Open(path));
  if (file.size() > kConfigBytesMax) {
    return Status(ErrorCode::kBadModel, "has " + std::to_string(file.size()) + " bytes, at most " +
                                            std::to_string(kConfigBytesMax) + " are read");
  }
  std::string text(file.size(), '\0');
  RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<ModelShape> FromConfig(const std::string& path, const ShapeOptions& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadConfig(path));
  ASSIGN_OR_RETURN(const huggingface::ConfigKeys keys, huggingface::ReadConfigKeys(text));
  const plan::PaperTypes types = {
      .matrices = keys.matrices, .experts = keys.experts, .is_tied = keys.is_tied};
  // "folder/config.json" is called as its folder is.
  const fs::path folder = fs::absolute(path).parent_path();
  ASSIGN_OR_RETURN(const TensorDirectory known, plan::NamedTensors(keys.names));
  return OnPaper(keys.metadata, known, types, options,
                 {.name = folder.filename().string(), .source = path});
}

Result<ModelShape> FromFile(const std::string& path, const ShapeOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const formats::ModelFile> file, load::OpenModelFile(path));
  ASSIGN_OR_RETURN(const std::string_view name, file->metadata().GetStringOr("general.name", ""));
  ASSIGN_OR_RETURN(model::Network network,
                   load::NetworkFromGguf(file->metadata(), file->tensors()));
  return Finish(
      std::move(network), file->tensors(), options,
      {.name = name.empty() ? fs::path(path).stem().string() : std::string(name), .source = path});
}

// The config.json to read instead of weights, or nothing.
std::string ConfigAlone(const std::string& path) {
  std::error_code error;
  const fs::path given(path);
  if (given.filename() == kConfig) return path;
  const fs::path config = given / kConfig;
  if (!fs::is_directory(given, error) || !fs::exists(config, error)) return {};
  for (const char* weights : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(given / weights, error)) return {};
  }
  return config.string();
}

}  // namespace

Result<ModelShape> ReadModelShape(const std::string& path, const ShapeOptions& options) {
  const std::string config = ConfigAlone(path);
  Result<ModelShape> shape = config.empty() ? FromFile(path, options) : FromConfig(config, options);
  if (!shape.ok() && shape.status().code() != ErrorCode::kInvalidArgument) {
    return std::move(shape).status().WithContext(path);
  }
  return shape;
}

Result<ModelShape> NamedModelShape(std::string_view name, const ShapeOptions& options) {
  ASSIGN_OR_RETURN(const plan::PublishedShape shape, plan::FindPublishedShape(name));
  return OnPaper(shape.metadata, TensorDirectory(), shape.types, options,
                 {.name = std::string(shape.name), .source = std::string(shape.source)});
}

}  // namespace skald
