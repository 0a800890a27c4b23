#include "skald/model.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "load/bind_weights.h"
#include "load/load_order.h"
#include "load/model_chat_template.h"
#include "load/model_hash.h"
#include "load/model_identity.h"
#include "load/network_from_gguf.h"
#include "load/open_model.h"
#include "load/rank_prompt.h"
#include "load/tokenizer_from_gguf.h"
#include "model/endless.h"
#include "model/rope_override.h"
#include "model/split.h"
#include "model/transformer.h"
#include "ranks/group.h"

namespace skald {

struct Model::State {
  ModelInfo info;
  Tokenizer tokenizer;
  Result<ChatTemplate> chat_template;
  load::RankPrompt rank_prompt;
  std::vector<model::Transformer> parts;    // one a rank
  std::optional<model::Transformer> whole;  // of several parts, without weights
  std::unique_ptr<load::ModelHash> hash;
  std::shared_ptr<ranks::Group> group;  // of the ranks, where they are processes
};

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const ModelInfo& Model::info() const { return state_->info; }
const Tokenizer& Model::tokenizer() const { return state_->tokenizer; }
const Result<ChatTemplate>& Model::chat_template() const { return state_->chat_template; }
Result<PairTokens> Model::EncodePair(std::string_view query, std::string_view document,
                                     StopCheck stop) const {
  return state_->rank_prompt.Encode(state_->tokenizer, query, document, stop);
}
Result<std::string> Model::Sha256() const { return state_->hash->Get(); }
const model::Transformer& Model::transformer() const {
  return state_->whole ? *state_->whole : state_->parts.front();
}
std::span<const model::Transformer> Model::parts() const { return state_->parts; }
const std::shared_ptr<ranks::Group>& Model::group() const { return state_->group; }

namespace {

using formats::ModelFile;

// The element type that holds most bytes.
std::string MainType(const formats::TensorDirectory& tensors) {
  std::map<tensor::DType, uint64_t> bytes;
  for (const formats::TensorInfo& tensor : tensors.all()) bytes[tensor.dtype] += tensor.byte_count;
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? "" : std::string(tensor::InfoOf(most->first).name);
}

// "folder/tales.gguf" -> "tales"
std::string StemOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

// Facts that need no network: every file has them.
Result<ModelInfo> InfoOf(const ModelFile& file) {
  ModelInfo info;
  info.path = file.name();
  ASSIGN_OR_RETURN(const std::string_view arch, file.metadata().GetString("general.architecture"));
  info.architecture = arch;
  ASSIGN_OR_RETURN(const std::string_view name, file.metadata().GetStringOr("general.name", ""));
  info.name = name.empty() ? StemOf(info.path) : std::string(name);
  ASSIGN_OR_RETURN(const std::string_view chat_template,
                   file.metadata().GetStringOr("tokenizer.chat_template", ""));
  info.chat_template = chat_template;
  ASSIGN_OR_RETURN(info.pooling, load::PoolingFromMetadata(file.metadata()));
  info.file_bytes = static_cast<int64_t>(file.file_bytes());
  info.weights_type = MainType(file.tensors());
  for (const formats::TensorInfo& tensor : file.tensors().all()) {
    info.parameter_count += static_cast<int64_t>(tensor.columns() * tensor.rows());
  }
  return info;
}

void AddNetwork(const model::Network& network, const std::vector<load::Binding>& bindings,
                ModelInfo* info) {
  info->context_length = network.context;
  info->vocab_size = network.vocab;
  info->layer_count = static_cast<int64_t>(network.layers.size());
  info->generates = !model::NeedsWholeTexts(network) && !network.rank_head.exists();
  if (network.rank_head.exists()) {
    info->rank_pooling = network.rank_head.pooling;
    if (!info->pooling) info->pooling = Pooling::kNone;  // it was not trained to embed
  }
  info->weight_bytes += load::PackedBytes(bindings);
  info->state_bytes = model::StateFloatsOf(network) * int64_t{sizeof(float)};
}

std::string NotFiniteWarning(const std::vector<std::string>& tensors) {
  std::string warning = "tensor '" + tensors.front() + "'";
  if (tensors.size() > 1) warning += " and " + std::to_string(tensors.size() - 1) + " more";
  return warning +
         ": found weights or scales that are NaN or infinite, expected numbers; the file is "
         "damaged, and generation fails where they are used (fetch the file again)";
}

// The transformers of a file in the making, one a rank.
struct Parts {
  ModelInfo& info;
  std::vector<model::Transformer> transformers = {};
  std::vector<std::string> not_finite = {};  // tensors, each once
};

void AddNames(const std::vector<std::string>& names, std::vector<std::string>* known) {
  for (const std::string& name : names) {
    if (std::find(known->begin(), known->end(), name) == known->end()) known->push_back(name);
  }
}

// A part that another process has: its numbers, for plans, and no weights.
Status AddPartOfOther(const ModelFile& file, const LoadOptions& options, model::Network network,
                      Parts* parts) {
  ASSIGN_OR_RETURN(const auto bindings,
                   load::BindTensors(network, file.tensors(), options.max_table_bytes));
  AddNetwork(network, bindings, &parts->info);
  RETURN_IF_ERROR(load::DescribeMatrices(bindings, &network));
  parts->transformers.emplace_back(std::move(network), AlignedBuffer());
  return Ok();
}

// Takes the tensors of one more part, whose numbers `network` is.
Status AddPart(const std::shared_ptr<const ModelFile>& file, const LoadOptions& options,
               const load::PackOptions& pack, model::Network network, Parts* parts) {
  ASSIGN_OR_RETURN(const auto bindings,
                   load::BindTensors(network, file->tensors(), options.max_table_bytes));
  AddNetwork(network, bindings, &parts->info);
  ASSIGN_OR_RETURN(load::PackedWeights packed, load::PackWeights(*file, bindings, pack));
  load::AttachTables(file, bindings);
  RETURN_IF_ERROR(model::Validate(network));  // again: the rope factors came with the weights
  AddNames(packed.not_finite, &parts->not_finite);
  parts->transformers.emplace_back(std::move(network), std::move(packed.storage));
  return Ok();
}

// What the ranks have of `network`, each read and packed by itself; of ranks that are processes the
// part of this one.
Status LoadParts(const std::shared_ptr<const ModelFile>& file, const LoadOptions& options,
                 const model::Network& network, Parts* parts) {
  ThreadPool pool(options.threads > 0 ? options.threads : AvailableCores());
  load::PackOptions pack = {
      .pool = pool, .page_cache = load::PageCacheRule(file->file_bytes(), MachineMemoryBytes())};
  for (int index = 0; index < options.ranks; ++index) {
    if (options.progress) {
      // Parts differ by some rows. Where they are loaded side by side, one tells of all.
      const int here = options.group ? 0 : index;
      const int parts_here = options.group ? 1 : options.ranks;
      pack.progress = [&options, here, parts_here](int64_t done_bytes, int64_t total_bytes) {
        options.progress(here * total_bytes + done_bytes, parts_here * total_bytes);
      };
    }
    model::Network part = network;
    if (options.ranks > 1) {
      RETURN_IF_ERROR(model::Split({.index = index, .count = options.ranks}, &part));
    }
    if (options.group && options.group->rank() != index) {
      RETURN_IF_ERROR(AddPartOfOther(*file, options, std::move(part), parts));
      continue;
    }
    RETURN_IF_ERROR(AddPart(file, options, pack, std::move(part), parts));
  }
  return Ok();
}

// A network that was split, as it was before: with the types and sizes of its matrices.
Result<model::Transformer> WholeOf(const ModelFile& file, const LoadOptions& options,
                                   model::Network network) {
  ASSIGN_OR_RETURN(const auto bindings,
                   load::BindTensors(network, file.tensors(), options.max_table_bytes));
  RETURN_IF_ERROR(load::DescribeMatrices(bindings, &network));
  return model::Transformer(std::move(network), AlignedBuffer());
}

// Tells the first rank what this one has, or is told by the others, of which all must have the same
// model: a file can be another one where the other rank is, or since it was opened.
Status AgreeOn(uint64_t identity, ranks::Group* group, std::vector<std::string>* not_finite) {
  if (!group->leads()) {
    group->Answer(Ok(), load::WriteLoadAnswer({identity, *not_finite}));
    return Ok();
  }
  return group->Await([&](int, std::span<const std::byte> bytes) -> Status {
    ASSIGN_OR_RETURN(const load::LoadAnswer answer, load::ReadLoadAnswer(bytes));
    AddNames(answer.not_finite, not_finite);
    if (answer.identity == identity) return Ok();
    return Status(ErrorCode::kBadModel, "found another model there than here");
  });
}

Result<Model> LoadOpened(const std::shared_ptr<const ModelFile>& opened,
                         const LoadOptions& options) {
  const ModelFile& file = *opened;
  const FloatMode mode;  // rope factors, numbers of the network and packed weights
  ASSIGN_OR_RETURN(ModelInfo info, InfoOf(file));
  ASSIGN_OR_RETURN(model::Network network,
                   load::NetworkFromGguf(file.metadata(), file.tensors(), options.conventions));
  RETURN_IF_ERROR(model::OverrideRopes(options.rope, &network));
  RETURN_IF_ERROR(model::MakeEndless(options.endless, &network));
  ASSIGN_OR_RETURN(Tokenizer tokenizer, load::TokenizerFromMetadata(file.metadata()));
  ASSIGN_OR_RETURN(info.identity, load::ModelIdentity(file));
  info.conventions = options.conventions;
  info.rope = options.rope;
  info.endless = options.endless;
  Parts parts = {.info = info};
  RETURN_IF_ERROR(LoadParts(opened, options, network, &parts));
  std::optional<model::Transformer> whole;
  if (options.ranks > 1) {
    ASSIGN_OR_RETURN(whole, WholeOf(file, options, std::move(network)));
  }
  Result<ChatTemplate> chat_template = load::ChatTemplateOf(info.chat_template, tokenizer);
  ASSIGN_OR_RETURN(load::RankPrompt rank_prompt, load::RankPrompt::Read(file.metadata()));
  // Behind all that can fail here: who answers has the model.
  if (options.group) {
    RETURN_IF_ERROR(AgreeOn(info.identity, options.group.get(), &parts.not_finite));
  }
  if (!parts.not_finite.empty()) info.warnings.push_back(NotFiniteWarning(parts.not_finite));
  return Model(std::make_shared<const Model::State>(
      Model::State{std::move(info), std::move(tokenizer), std::move(chat_template),
                   std::move(rank_prompt), std::move(parts.transformers), std::move(whole),
                   std::make_unique<load::ModelHash>(opened), options.group}));
}

void AddTables(const ModelFile& file, ModelDescription* description) {
  constexpr size_t kShownBytes = 120;
  const formats::Metadata& metadata = file.metadata();
  for (size_t i = 0; i < metadata.size(); ++i) {
    const formats::MetadataEntry entry = metadata.entry(i);
    std::string type(formats::ValueTypeName(entry.type));
    if (entry.type == formats::ValueType::kArray) {
      type = "array[" + std::to_string(entry.count) + "] of " +
             std::string(formats::ValueTypeName(entry.element_type));
    }
    description->metadata.push_back(
        {std::string(entry.key), std::move(type), metadata.Describe(i, kShownBytes), 0});
  }
  for (const formats::TensorInfo& tensor : file.tensors().all()) {
    description->tensors.push_back(
        {std::string(tensor.name), std::string(tensor::InfoOf(tensor.dtype).name),
         load::ShapeText(tensor), static_cast<int64_t>(tensor.byte_count)});
  }
}

// Of a token; nothing where the network cannot keep K and V so.
std::optional<int64_t> KvBytesOf(const model::Network& network, kernels::KvType type) {
  const kv::KvLayout layout = model::KvLayoutOf(network, type);
  if (!layout.IsAllowed()) return std::nullopt;
  return layout.position_bytes();
}

Result<ModelDescription> DescribeOpened(const ModelFile& file) {
  ModelDescription description;
  ASSIGN_OR_RETURN(description.info, InfoOf(file));
  description.format = file.format();
  description.part_count = static_cast<int>(file.part_count());
  AddTables(file, &description);
  ASSIGN_OR_RETURN(const Tokenizer tokenizer, load::TokenizerFromMetadata(file.metadata()));
  description.info.vocab_size = tokenizer.vocab_size();
  if (file.tensors().size() == 0) return description;  // a vocabulary without a network
  ASSIGN_OR_RETURN(model::Network network, load::NetworkFromGguf(file.metadata(), file.tensors()));
  ASSIGN_OR_RETURN(const auto bindings, load::BindTensors(network, file.tensors()));
  AddNetwork(network, bindings, &description.info);
  description.kv_bytes_per_token_f16 = *KvBytesOf(network, kernels::KvType::kF16);
  description.kv_bytes_per_token_f32 = *KvBytesOf(network, kernels::KvType::kF32);
  description.kv_bytes_per_token_q8 = KvBytesOf(network, kernels::KvType::kQ8);
  description.kv_bytes_per_token_q4 = KvBytesOf(network, kernels::KvType::kQ4);
  return description;
}

}  // namespace

namespace {

// Threads are of all ranks of a machine together, but at least one each.
Result<LoadOptions> OrderOf(const LoadOptions& options, ranks::Group* group) {
  LoadOptions own = options;
  own.ranks = group->count();
  if (!group->leads()) {
    ranks::Message order;
    RETURN_IF_ERROR(group->Next(&order));
    if (order.kind != load::kLoadOrder) {
      return Status(ErrorCode::kInvalidArgument, "the first order is not to load a model");
    }
    ASSIGN_OR_RETURN(own, load::ReadLoadOrder(order.bytes));
    own.ranks = group->count();
    own.group = options.group;
    if (!options.path.empty()) own.path = options.path;
    // Another machine has other cores.
    if (group->ranks_here() == 1) own.threads = options.threads;
    return own;
  }
  const int all = options.threads > 0 ? options.threads : AvailableCores();
  own.threads = std::max(1, all / group->ranks_here());
  group->Tell(load::kLoadOrder, load::WriteLoadOrder(own));
  return own;
}

Result<Model> LoadAlone(const LoadOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, load::OpenModelFile(options.path));
  Result<Model> model = LoadOpened(file, options);
  if (!model.ok()) return std::move(model).status().WithContext(options.path);
  return model;
}

Result<Model> LoadTogether(const LoadOptions& options) {
  ranks::Group* group = options.group.get();
  ASSIGN_OR_RETURN(const LoadOptions own, OrderOf(options, group));
  Result<Model> model = LoadAlone(own);
  if (!group->leads()) {
    if (!model.ok()) group->Answer(model.status());
    return model;
  }
  // Not before: who cannot load says why and goes, and that is to be heard.
  if (model.ok()) group->Watch();
  return model;
}

}  // namespace

Result<Model> LoadModel(const LoadOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return Status(ErrorCode::kInvalidArgument, "threads is " + std::to_string(options.threads) +
                                                   ", expected 0 to " +
                                                   std::to_string(ThreadPool::kMaxThreads));
  }
  if (options.ranks < 1 || options.ranks > kMaxRanks) {
    return Status(ErrorCode::kInvalidArgument, "ranks is " + std::to_string(options.ranks) +
                                                   ", expected 1 to " + std::to_string(kMaxRanks));
  }
  if (options.max_table_bytes < 0) {
    return Status(ErrorCode::kInvalidArgument, "bytes of the largest table in memory are " +
                                                   std::to_string(options.max_table_bytes) +
                                                   ", expected 0 or more");
  }
  return options.group ? LoadTogether(options) : LoadAlone(options);
}

Result<ModelDescription> DescribeModel(const std::string& path) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, load::OpenModelFile(path));
  Result<ModelDescription> description = DescribeOpened(*file);
  if (!description.ok()) return std::move(description).status().WithContext(path);
  return description;
}

Result<Tokenizer> LoadTokenizer(const std::string& path) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, load::OpenModelFile(path));
  Result<Tokenizer> tokenizer = load::TokenizerFromMetadata(file->metadata());
  if (!tokenizer.ok()) return std::move(tokenizer).status().WithContext(path);
  return tokenizer;
}

}  // namespace skald
