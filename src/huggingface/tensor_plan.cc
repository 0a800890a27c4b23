#include "huggingface/tensor_plan.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/row_changes.h"
#include "huggingface/tensor_coding.h"
#include "huggingface/tensor_names.h"

namespace skald::huggingface {
namespace {

using formats::StoredTensor;
using formats::StoredType;

constexpr size_t kMostExperts = 65536;

// What was found under one of our names.
struct Found {
  NameRule rule;
  bool has_experts = false;
  std::map<int64_t, const Stored*> slices;  // by expert; one without
};

// Replaces the # of `name` by `layer`.
std::string WithLayer(std::string_view name, int64_t layer) {
  const size_t place = name.find('#');
  if (place == std::string_view::npos) return std::string(name);
  return fmt::format("{}{}{}", name.substr(0, place), layer, name.substr(place + 1));
}

// Scales stand beside what they scale, and are found from there.
bool IsScale(std::string_view name) {
  return name.ends_with("_scale_inv") || name.ends_with("_scales");
}

// The slices in order: a tensor each, or all `in_one`.
Result<std::vector<Slice>> SlicesOf(const std::string& name, const Found& found, uint64_t in_one) {
  std::vector<Slice> slices;
  if (!found.has_experts) {
    // Before anything of that size is taken.
    if (in_one > kMostExperts) return TensorError(name, "has too many experts");
    for (uint64_t i = 0; i < in_one; ++i)
      slices.push_back({.values = found.slices.begin()->second, .first = i});
    return slices;
  }
  const StoredTensor& first = found.slices.begin()->second->tensor;
  for (const auto& [expert, stored] : found.slices) {
    if (expert != static_cast<int64_t>(slices.size()))
      return TensorError(name, fmt::format("lacks expert {}", slices.size()));
    if (stored->tensor.shape != first.shape || stored->tensor.type != first.type)
      return TensorError(stored->tensor.name, "differs in shape or type from the expert before");
    slices.push_back({.values = stored});
  }
  return slices;
}

// [rows, columns] in GGUF's order, and the slices.
void SetDims(bool is_vector, bool has_slices, PlannedTensor* tensor) {
  if (is_vector) {
    tensor->dims = {tensor->rows * tensor->columns};
  } else {
    tensor->dims = {tensor->columns, tensor->rows};
  }
  if (has_slices) tensor->dims.push_back(tensor->slices.size());
  // A gate of one row is a vector (Qwen2-MoE's shared expert).
  if (tensor->name.ends_with("_inp_shexp.weight") && tensor->rows == 1) tensor->dims.pop_back();
}

class Planner {
 public:
  Planner(const Config& config, const Architecture& architecture, std::span<const Stored> stored)
      : config_(config), architecture_(architecture), stored_(stored) {}

  // All are placed before one is planned: the experts of a tensor may lie in several files.
  Result<std::vector<PlannedTensor>> Plan() {
    ASSIGN_OR_RETURN(layers_, config_.Int("num_hidden_layers"));
    ASSIGN_OR_RETURN(is_tied_, config_.FlagOr("tie_word_embeddings", false));
    ranks_ = config_.IsClass(kRankingClass);
    ASSIGN_OR_RETURN(numbers_, ReadHeadNumbers(config_));
    for (const Stored& each : stored_) {
      if (!by_name_.emplace(each.tensor.name, &each).second)
        return TensorError(each.tensor.name, "stands twice");
    }
    for (const Stored& each : stored_) RETURN_IF_ERROR(Place(each));
    std::vector<PlannedTensor> tensors;
    for (const auto& [name, found] : found_) {
      ASSIGN_OR_RETURN(PlannedTensor tensor, PlanOne(name, found));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  // What is no part of the network. A head that is the embedding again is often stored all the
  // same; layers behind the last guess further tokens.
  bool IsLeftOut(const std::string& name, const NamePattern& pattern) const {
    if (MayBeLeftOut(name) || IsScale(name)) return true;
    if (is_tied_ && pattern.pattern == "lm_head.weight") return true;
    return !pattern.numbers.empty() && pattern.numbers[0] >= layers_ &&
           pattern.pattern.starts_with("layers.#.");
  }

  Status Place(const Stored& stored) {
    const std::string& name = stored.tensor.name;
    const NamePattern pattern = PatternOf(name);
    // First: a dense layer that is left out of a model that embeds is a part of one that ranks.
    std::vector<NameRule> rules;
    if (ranks_) rules = RankRulesFor(architecture_, pattern.pattern);
    if (rules.empty() && IsLeftOut(name, pattern)) return Ok();
    if (rules.empty()) rules = RulesFor(architecture_, pattern.pattern);
    if (rules.empty()) {
      return TensorError(name,
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
      const auto [other, is_new] = found.slices.emplace(expert, &stored);
      // Names that differ in what stands before the network only ("model." or nothing) mean one
      // tensor. Which of two would be the right one, nobody here can know.
      if (!is_new) {
        return TensorError(name, fmt::format("means the same as {}: expected one of them",
                                             formats::Quote(other->second->tensor.name)));
      }
    }
    return Ok();
  }

  // The coding before the change: scales belong to the shape that is stored.
  Result<PlannedTensor> PlanOne(const std::string& name, const Found& found) const {
    const StoredTensor& first = found.slices.begin()->second->tensor;
    PlannedTensor tensor{.name = name, .change = found.rule.change, .values = found.rule.values};
    const bool is_mxfp4 = first.type == StoredType::kU8;
    // A tensor of all experts has their number in front. So has one for gates and ups.
    const bool stacked = !found.has_experts && name.find("_exps.") != std::string::npos;
    ASSIGN_OR_RETURN(const StoredShape shape,
                     is_mxfp4
                         ? ReadMxfp4Shape(first)
                         : ReadStoredShape(first, stacked ? Stacking::kStacked : Stacking::kOne));
    tensor.rows = shape.rows;
    tensor.columns = shape.columns;
    ASSIGN_OR_RETURN(tensor.slices, SlicesOf(name, found, shape.slices));
    RETURN_IF_ERROR(ChooseCoding(config_, by_name_, &tensor));
    const ChangeInputs inputs = {
        .config = config_, .numbers = numbers_, .stored = first.name, .is_vector = shape.is_vector};
    RETURN_IF_ERROR(ApplyChange(inputs, &tensor));
    const bool has_slices = found.has_experts || is_mxfp4 || (stacked && first.shape.size() > 1);
    SetDims(shape.is_vector, has_slices, &tensor);
    return tensor;
  }

  const Config& config_;
  const Architecture& architecture_;
  std::span<const Stored> stored_;
  int64_t layers_ = 0;
  bool is_tied_ = false;
  bool ranks_ = false;
  HeadNumbers numbers_;
  StoredByName by_name_;
  std::map<std::string, Found> found_;
};

}  // namespace

Result<std::vector<PlannedTensor>> PlanTensors(const Config& config,
                                               const Architecture& architecture,
                                               std::span<const Stored> stored) {
  return Planner(config, architecture, stored).Plan();
}

}  // namespace skald::huggingface
