// BERT, and XLM-RoBERTa, which is BERT but for its positions.
#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kBertNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight", Change::kSkipPadding},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"encoder.layer.#.attention.self.query.weight", "blk.#.attn_q.weight"},
    {"encoder.layer.#.attention.self.query.bias", "blk.#.attn_q.bias"},
    {"encoder.layer.#.attention.self.key.weight", "blk.#.attn_k.weight"},
    {"encoder.layer.#.attention.self.key.bias", "blk.#.attn_k.bias"},
    {"encoder.layer.#.attention.self.value.weight", "blk.#.attn_v.weight"},
    {"encoder.layer.#.attention.self.value.bias", "blk.#.attn_v.bias"},
    {"encoder.layer.#.attention.output.dense.weight", "blk.#.attn_output.weight"},
    {"encoder.layer.#.attention.output.dense.bias", "blk.#.attn_output.bias"},
    {"encoder.layer.#.attention.output.LayerNorm.weight", "blk.#.attn_output_norm.weight"},
    {"encoder.layer.#.attention.output.LayerNorm.bias", "blk.#.attn_output_norm.bias"},
    {"encoder.layer.#.intermediate.dense.weight", "blk.#.ffn_up.weight"},
    {"encoder.layer.#.intermediate.dense.bias", "blk.#.ffn_up.bias"},
    {"encoder.layer.#.output.dense.weight", "blk.#.ffn_down.weight"},
    {"encoder.layer.#.output.dense.bias", "blk.#.ffn_down.bias"},
    {"encoder.layer.#.output.LayerNorm.weight", "blk.#.layer_output_norm.weight"},
    {"encoder.layer.#.output.LayerNorm.bias", "blk.#.layer_output_norm.bias"}};

// Both are a dense layer with tanh of the first token's state and one output.
constexpr NameRule kBertRankNames[] = {{"pooler.dense.weight", "cls.weight"},
                                       {"pooler.dense.bias", "cls.bias"},
                                       {"classifier.weight", "cls.output.weight"},
                                       {"classifier.bias", "cls.output.bias"}};
constexpr NameRule kRobertaRankNames[] = {{"classifier.dense.weight", "cls.weight"},
                                          {"classifier.dense.bias", "cls.bias"},
                                          {"classifier.out_proj.weight", "cls.output.weight"},
                                          {"classifier.out_proj.bias", "cls.output.bias"}};

Status RobertaShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t before, PaddingRows(config));
  if (before >= shape->context)
    return ConfigError("pad_token_id", fmt::format("leaves none of {} positions", shape->context));
  shape->context -= before;
  return Ok();
}

Status Bert(const Config& config, KeyWriter* keys) {
  keys->Flag("attention.causal", false);
  ASSIGN_OR_RETURN(const std::string_view positions,
                   config.TextOr("position_embedding_type", "absolute"));
  if (positions == "absolute") return Ok();
  return ConfigError("position_embedding_type", "is not absolute", ErrorCode::kUnsupported);
}

constexpr Architecture kKinds[] = {
    {.model_type = "bert",
     .family = "bert",
     .rules = kBertNames,
     .rank_rules = kBertRankNames,
     .ties_head = true,
     .activation = "gelu",
     .write_keys = Bert},
    {.model_type = "xlm-roberta",
     .family = "bert",
     .rules = kBertNames,
     .rank_rules = kRobertaRankNames,
     .pads_first = true,
     .ties_head = true,
     .activation = "gelu",
     .change_shape = RobertaShape,
     .write_keys = Bert},
};

}  // namespace

std::span<const Architecture> BertFolders() { return kKinds; }

}  // namespace skald::huggingface
