#include "huggingface/tensor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/tensor_names.h"

namespace skald::huggingface {
namespace {

using formats::StoredType;
using tensor::DType;

constexpr size_t kMostExperts = 65536;

Status Bad(std::string_view name, std::string_view problem, ErrorCode code = ErrorCode::kBadModel) {
  return Status(code, fmt::format("tensor {}: {}", formats::Quote(name), problem));
}

// What was found under one of our names.
struct Found {
  NameRule rule;
  bool has_experts = false;
  std::map<int64_t, const Stored*> slices;  // by expert; one without
};

// What the whole plan needs.
struct Numbers {
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_heads = 0;  // of delta nets
  int64_t value_heads = 0;
  int64_t value_dim = 0;
  bool is_tied = false;
};

Result<Numbers> NumbersOf(const Config& config) {
  Numbers numbers;
  ASSIGN_OR_RETURN(numbers.layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(numbers.heads, config.Int("num_attention_heads"));
  ASSIGN_OR_RETURN(numbers.kv_heads, config.IntOr("num_key_value_heads", numbers.heads));
  ASSIGN_OR_RETURN(numbers.key_heads, config.IntOr("linear_num_key_heads", 0));
  ASSIGN_OR_RETURN(numbers.value_heads, config.IntOr("linear_num_value_heads", 0));
  ASSIGN_OR_RETURN(numbers.value_dim, config.IntOr("linear_value_head_dim", 0));
  ASSIGN_OR_RETURN(numbers.is_tied, config.FlagOr("tie_word_embeddings", false));
  return numbers;
}

// Rows and columns that share a scale of FP8: squares only, as all that are published.
Result<uint64_t> ScaleBlock(const Config& config) {
  const auto quantization = config.Find("quantization_config");
  const auto size = quantization ? quantization->Find("weight_block_size") : std::nullopt;
  if (!size || size->size() != 2)
    return ConfigError("quantization_config", "has no weight_block_size of two numbers",
                       ErrorCode::kUnsupported);
  const auto rows = (*size->begin()).AsInt();
  const auto columns = (*++size->begin()).AsInt();
  if (!rows || rows != columns || *rows < 1 || *rows > 65536)
    return ConfigError("weight_block_size", "expected two equal numbers of 1 to 65536",
                       ErrorCode::kUnsupported);
  return static_cast<uint64_t>(*rows);
}

// Replaces the # of `name` by `layer`.
std::string WithLayer(std::string_view name, int64_t layer) {
  const size_t place = name.find('#');
  if (place == std::string_view::npos) return std::string(name);
  return fmt::format("{}{}{}", name.substr(0, place), layer, name.substr(place + 1));
}

DType DTypeOf(StoredType type) {
  if (type == StoredType::kF16) return DType::kF16;
  return type == StoredType::kBF16 ? DType::kBF16 : DType::kF32;
}

bool IsFloat(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16;
}

// The dimensions of one slice: rows and columns. Vectors have one row.
struct Shape {
  uint64_t slices = 1;
  uint64_t rows = 1;
  uint64_t columns = 1;
  bool is_vector = false;
};

// `stacked`: the first dimension counts experts.
Result<Shape> ShapeOf(const formats::StoredTensor& stored, bool stacked) {
  std::vector<uint64_t> dims = stored.shape;
  if (std::find(dims.begin(), dims.end(), uint64_t{0}) != dims.end() || dims.empty())
    return Bad(stored.name, "has no elements");
  Shape shape;
  if (stacked && dims.size() > 1) {
    shape.slices = dims.front();
    dims.erase(dims.begin());
  }
  // Convolutions of each channel by itself: [channels, 1, taps].
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() > 2) return Bad(stored.name, "has too many dimensions", ErrorCode::kUnsupported);
  shape.is_vector = dims.size() == 1;
  shape.columns = dims.back();
  if (!shape.is_vector) shape.rows = dims.front();
  return shape;
}

class Planner {
 public:
  Planner(const Config& config, const Architecture& architecture, std::span<const Stored> stored)
      : config_(config), architecture_(architecture), stored_(stored) {}

  Result<std::vector<PlannedTensor>> Plan() {
    ASSIGN_OR_RETURN(numbers_, NumbersOf(config_));
    for (const Stored& each : stored_) by_name_.emplace(each.tensor.name, &each);
    if (by_name_.size() != stored_.size()) return TwiceError();
    for (const Stored& each : stored_) RETURN_IF_ERROR(Place(each));
    std::vector<PlannedTensor> tensors;
    for (const auto& [name, found] : found_) {
      ASSIGN_OR_RETURN(PlannedTensor tensor, PlanOne(name, found));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  Status TwiceError() const {
    std::map<std::string_view, int> count;
    for (const Stored& each : stored_)
      if (++count[each.tensor.name] == 2) return Bad(each.tensor.name, "stands twice");
    return Ok();
  }

  // Scales stand beside what they scale, and are found from there.
  bool IsScale(std::string_view name) const {
    for (const std::string_view suffix : {"_scale_inv", "_scales"})
      if (name.ends_with(suffix)) return true;
    return false;
  }

  Status Place(const Stored& stored) {
    const std::string& name = stored.tensor.name;
    if (MayBeLeftOut(name) || IsScale(name)) return Ok();
    const NamePattern pattern = PatternOf(name);
    if (numbers_.is_tied && pattern.pattern == "lm_head.weight") return Ok();
    const bool is_prediction = !pattern.numbers.empty() && pattern.numbers[0] >= numbers_.layers &&
                               pattern.pattern.starts_with("layers.#.");
    if (is_prediction) return Ok();  // guesses further tokens: no part of the network
    const std::vector<NameRule> rules = RulesFor(architecture_, pattern.pattern);
    if (rules.empty()) {
      return Bad(name,
                 fmt::format("has no place in a network of type {}, so this version would "
                             "compute something else",
                             architecture_.model_type),
                 ErrorCode::kUnsupported);
    }
    for (const NameRule& rule : rules) {
      const int64_t layer = pattern.numbers.empty() ? 0 : pattern.numbers[0];
      const int64_t expert = pattern.numbers.size() > 1 ? pattern.numbers[1] : 0;
      Found& found = found_[WithLayer(rule.name, layer)];
      found.rule = rule;
      found.has_experts = pattern.numbers.size() > 1;
      found.slices.emplace(expert, &stored);
    }
    return Ok();
  }

  // The slices in order: a tensor each, or all in one.
  static Result<std::vector<Slice>> SlicesOf(const std::string& name, const Found& found,
                                             uint64_t in_one) {
    std::vector<Slice> slices;
    if (!found.has_experts) {
      if (in_one > kMostExperts) return Bad(name, "has too many experts");
      for (uint64_t i = 0; i < in_one; ++i)
        slices.push_back({.values = found.slices.begin()->second, .first = i});
      return slices;
    }
    for (const auto& [expert, stored] : found.slices) {
      if (expert != static_cast<int64_t>(slices.size()))
        return Bad(name, fmt::format("lacks expert {}", slices.size()));
      if (stored->tensor.shape != found.slices.begin()->second->tensor.shape ||
          stored->tensor.type != found.slices.begin()->second->tensor.type)
        return Bad(stored->tensor.name, "differs in shape or type from the expert before");
      slices.push_back({.values = stored});
    }
    return slices;
  }

  const Stored* Find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  Result<PlannedTensor> PlanOne(const std::string& name, const Found& found) const {
    const formats::StoredTensor& first = found.slices.begin()->second->tensor;
    PlannedTensor tensor{.name = name, .change = found.rule.change, .values = found.rule.values};
    if (first.type == StoredType::kU8) return PlanMxfp4(found, std::move(tensor));
    // A tensor of all experts has their number in front. So has one for gates and ups.
    const bool stacked = !found.has_experts && (name.find("_exps.") != std::string::npos);
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(first, stacked));
    tensor.rows = shape.rows;
    tensor.columns = shape.columns;
    ASSIGN_OR_RETURN(tensor.slices, SlicesOf(name, found, shape.slices));
    RETURN_IF_ERROR(ChooseCoding(first, &tensor));
    RETURN_IF_ERROR(ApplyChange(first.name, shape.is_vector, &tensor));
    const bool has_slices = found.has_experts || (stacked && first.shape.size() > 1);
    SetDims(shape.is_vector, has_slices, &tensor);
    return tensor;
  }

  Status ChooseCoding(const formats::StoredTensor& first, PlannedTensor* tensor) const {
    if (tensor->values != Values::kAsStored && IsFloat(first.type)) {
      tensor->coding = Coding::kToF32;
      tensor->dtype = DType::kF32;
      return Ok();
    }
    if (tensor->values != Values::kAsStored)
      return Bad(first.name, "expected F32, F16 or BF16", ErrorCode::kUnsupported);
    if (IsFloat(first.type)) {
      tensor->dtype = DTypeOf(first.type);
      return Ok();
    }
    if (first.type != StoredType::kF8E4M3) {
      return Bad(first.name,
                 fmt::format("element type {}, expected F32, F16, BF16, F8_E4M3 or U8 blocks",
                             formats::StoredTypeName(first.type)),
                 ErrorCode::kUnsupported);
    }
    tensor->coding = Coding::kFp8;
    tensor->dtype = DType::kBF16;
    ASSIGN_OR_RETURN(tensor->scale_block, ScaleBlock(config_));
    const auto blocks = [&](uint64_t count) {
      return (count + tensor->scale_block - 1) / tensor->scale_block;
    };
    const std::vector<uint64_t> expected = {blocks(tensor->rows), blocks(tensor->columns)};
    for (Slice& slice : tensor->slices) {
      const std::string name = slice.values->tensor.name + "_scale_inv";
      slice.scales = Find(name);
      if (slice.scales == nullptr) return Bad(name, "is missing");
      if (slice.scales->tensor.type != StoredType::kF32 || slice.scales->tensor.shape != expected)
        return Bad(name, fmt::format("expected F32 of {} x {}", expected[0], expected[1]));
    }
    return Ok();
  }

  // Tensors whose rows move. Elements of a vector are its rows.
  Status ApplyChange(const std::string& name, bool is_vector, PlannedTensor* tensor) const {
    switch (tensor->change) {
      case Change::kNone: return Ok();
      case Change::kPairRows: tensor->heads = static_cast<uint64_t>(numbers_.heads); break;
      case Change::kPairKvRows: tensor->heads = static_cast<uint64_t>(numbers_.kv_heads); break;
      case Change::kEvenRows:
      case Change::kOddRows:
      case Change::kTurnValueHeads: break;
      case Change::kTurnValueColumns: return TurnValueHeads(name, tensor->columns, tensor);
      case Change::kSkipPadding: return SkipPadding(name, tensor);
    }
    if (is_vector) std::swap(tensor->rows, tensor->columns);
    if (tensor->change == Change::kTurnValueHeads)
      return TurnValueHeads(name, tensor->rows, tensor);
    const bool halves = tensor->change == Change::kEvenRows || tensor->change == Change::kOddRows;
    if (halves) {
      if (tensor->rows % 2 != 0) return Bad(name, "expected an even number of rows");
      tensor->rows /= 2;
      return Ok();
    }
    if (tensor->heads < 1 || tensor->rows % (2 * tensor->heads) != 0) {
      return Bad(name, fmt::format("{} rows are not an even number for each of {} heads",
                                   tensor->rows, tensor->heads));
    }
    return Ok();
  }

  Status SkipPadding(const std::string& name, PlannedTensor* tensor) const {
    ASSIGN_OR_RETURN(const int64_t rows, PaddingRows(config_));
    tensor->skipped = static_cast<uint64_t>(rows);
    if (tensor->rows <= tensor->skipped)
      return Bad(name, fmt::format("has {} rows, expected more than {}", tensor->rows, rows));
    tensor->rows -= tensor->skipped;
    return Ok();
  }

  // `length`: the rows or columns of which the last are the heads. Gates have one row for a head.
  Status TurnValueHeads(const std::string& name, uint64_t length, PlannedTensor* tensor) const {
    constexpr int64_t kMost = 65536;
    const Numbers& n = numbers_;
    if (n.key_heads < 1 || n.value_heads < 1 || n.value_heads > kMost || n.value_dim < 1 ||
        n.value_dim > kMost || n.value_heads % n.key_heads != 0) {
      return ConfigError("linear_num_value_heads",
                         fmt::format("is {} (of {} each), no multiple of {} key heads",
                                     n.value_heads, n.value_dim, n.key_heads));
    }
    const auto heads = static_cast<uint64_t>(n.value_heads);
    const bool one_each = length == heads;
    const uint64_t size = one_each ? 1 : static_cast<uint64_t>(n.value_dim);
    const bool all = tensor->change == Change::kTurnValueColumns;
    if (all ? length != heads * size : length < heads * size)
      return Bad(name, fmt::format("has {} elements for {} heads of {}", length, heads, size));
    tensor->value_heads = {
        .key_heads = static_cast<uint64_t>(n.key_heads), .count = heads, .size = size};
    return Ok();
  }

  // [rows, columns] in GGUF's order, and the slices.
  static void SetDims(bool is_vector, bool has_slices, PlannedTensor* tensor) {
    if (is_vector) {
      tensor->dims = {tensor->rows * tensor->columns};
    } else {
      tensor->dims = {tensor->columns, tensor->rows};
    }
    if (has_slices) tensor->dims.push_back(tensor->slices.size());
    // A gate of one row is a vector (Qwen2-MoE's shared expert).
    if (tensor->name.ends_with("_inp_shexp.weight") && tensor->rows == 1) tensor->dims.pop_back();
  }

  // Blocks [experts, rows, columns / 32, 16] of nibbles, and [experts, rows, columns / 32] of
  // exponents.
  Result<PlannedTensor> PlanMxfp4(const Found& found, PlannedTensor tensor) const {
    const Stored& blocks = *found.slices.begin()->second;
    const std::string& name = blocks.tensor.name;
    constexpr std::string_view kBlocks = "_blocks";
    const std::vector<uint64_t>& shape = blocks.tensor.shape;
    if (!name.ends_with(kBlocks) || shape.size() != 4 || shape[3] != kMxfp4NibbleBytes ||
        std::find(shape.begin(), shape.end(), uint64_t{0}) != shape.end()) {
      return Bad(name, "element type U8, expected MXFP4 blocks [experts, rows, n, 16]",
                 ErrorCode::kUnsupported);
    }
    const std::string scales_name = name.substr(0, name.size() - kBlocks.size()) + "_scales";
    const Stored* scales = Find(scales_name);
    if (scales == nullptr) return Bad(scales_name, "is missing");
    if (scales->tensor.type != StoredType::kU8 ||
        scales->tensor.shape != std::vector<uint64_t>(shape.begin(), shape.end() - 1))
      return Bad(scales_name, "does not have the shape of its blocks");
    tensor.coding = Coding::kMxfp4;
    tensor.dtype = DType::kMXFP4;
    tensor.rows = shape[1];
    tensor.columns = shape[2] * kMxfp4Columns;
    ASSIGN_OR_RETURN(tensor.slices, SlicesOf(name, found, shape[0]));
    for (Slice& slice : tensor.slices) slice.scales = scales;
    RETURN_IF_ERROR(ApplyChange(name, false, &tensor));
    SetDims(false, true, &tensor);
    return tensor;
  }

  const Config& config_;
  const Architecture& architecture_;
  std::span<const Stored> stored_;
  Numbers numbers_;
  std::map<std::string_view, const Stored*> by_name_;
  std::map<std::string, Found> found_;
};

}  // namespace

Result<std::vector<PlannedTensor>> PlanTensors(const Config& config,
                                               const Architecture& architecture,
                                               std::span<const Stored> stored) {
  return Planner(config, architecture, stored).Plan();
}

}  // namespace skald::huggingface
