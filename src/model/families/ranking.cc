#include "model/families/ranking.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"

namespace skald::model {
namespace {

constexpr std::string_view kLabels = "classifier.output_labels";

// Files from before there were labels have one output.
Result<int64_t> OutputCount(const Keys& keys, bool may_answer) {
  if (!keys.Contains(kLabels)) return 1;
  ASSIGN_OR_RETURN(const std::vector<std::string_view> labels, keys.Texts(kLabels));
  if (labels.size() == 1) return 1;
  if (may_answer && labels == std::vector<std::string_view>{"yes", "no"}) return 2;
  return Status(ErrorCode::kUnsupported,
                keys.Spelled(kLabels) + " has " + std::to_string(labels.size()) +
                    " labels, expected 1" + (may_answer ? ", or yes and no" : "") +
                    ": this version ranks texts, it does not sort them into classes");
}

}  // namespace

Status ReadRankHead(const Keys& keys, const RankForm& form, Network* network) {
  const bool has_output = keys.ContainsTensor("cls.output.weight");
  const bool has_dense = keys.ContainsTensor("cls.weight");
  if (!has_output && (!has_dense || !form.function)) return Ok();
  RankHead& head = network->rank_head;
  head.width = network->width;
  head.pooling = form.pooling;
  ASSIGN_OR_RETURN(head.outputs, OutputCount(keys, !NeedsWholeTexts(*network)));
  if (!has_output) {
    head.output_name = "cls";  // Jina's first rerankers
    return Ok();
  }
  if (has_dense) head.function = form.function;
  if (!keys.ContainsTensor("cls.norm.weight")) return Ok();
  ASSIGN_OR_RETURN(const double epsilon, keys.Number("attention.layer_norm_epsilon"));
  head.norm = {.kind = NormKind::kLayer, .epsilon = static_cast<float>(epsilon)};
  return Ok();
}

}  // namespace skald::model
