/// Network: a decoder network as a list of layers, numbers and tensors. A layer is a mixer and a
/// feed-forward; each kind of them is a block, a folder in blocks/.
///
/// A family (families/) makes the numbers from the keys of a file; load fills the tensors, which
/// the blocks declare; Transformer runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/pack/panel.h"
#include "kv/kv_layout.h"
#include "model/alt_up.h"
#include "model/blocks/delta_net/delta_net.h"
#include "model/blocks/experts/experts.h"
#include "model/blocks/gated/gated.h"
#include "model/blocks/gated_and_experts/gated_and_experts.h"
#include "model/blocks/gqa/gqa.h"
#include "model/blocks/kda/kda.h"
#include "model/blocks/laurel/laurel.h"
#include "model/blocks/layer_input/layer_input.h"
#include "model/blocks/mamba2/mamba2.h"
#include "model/blocks/mixer.h"
#include "model/blocks/mla/mla.h"
#include "model/blocks/none/none.h"
#include "model/blocks/plain/plain.h"
#include "model/blocks/short_conv/short_conv.h"
#include "model/hidden_projection.h"
#include "model/layer_inputs.h"
#include "model/norm.h"
#include "model/rank_head.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// How the feed-forward of a layer follows the mixer.
enum class LayerOrder : uint8_t {
  kSequential,  ///< it reads what the mixer changed
  kParallel,    ///< it reads what the mixer reads
};

/// Whether the residual stream is multiplied by a number of the file behind a layer.
enum class LayerScale : uint8_t { kNone, kLearned };

/// What lets the rows of a sequence see each other.
using Mixer = std::variant<Gqa, Mla, ShortConv, DeltaNet, Kda, Mamba2, None>;

/// What works on each row by itself.
using FeedForward = std::variant<Gated, Experts, Plain, GatedAndExperts, None>;

/// Whether the block is one at all.
template <typename Block>
bool Exists(const Block& block) {
  return !std::holds_alternative<None>(block);
}

/// What a layer lets its rows exchange, and what it does with each of them.
///
///     x += s mixer_output_norm(mixer(mixer_norm(x)))
///     x += s feed_forward_output_norm(feed_forward(feed_forward_norm(x)))
///
///     x += input_output_norm(input(x))                                     where there is an input
///
/// s is the network's residual_scale; at last x *= output_scale, where there is one. Where there
/// are norms of sums, x = mixer_sum_norm(x) behind the first sum, and so on. Parallel: y =
/// mixer_norm(x); x += mixer(y); x += feed_forward(y), without the other norms. A second mixer
/// reads the same: x += mixer(y); x += beside(y). A layer has one block at least.
struct Layer {
  LayerOrder order = LayerOrder::kSequential;
  Norm mixer_norm = {};
  Mixer mixer = {};
  Mixer beside = None{};  ///< where the layer has a mixer already
  Norm mixer_output_norm = {.kind = NormKind::kNone};
  Norm mixer_sum_norm = {.kind = NormKind::kNone};
  Norm feed_forward_norm = {};
  FeedForward feed_forward = {};
  Norm feed_forward_output_norm = {.kind = NormKind::kNone};
  Norm feed_forward_sum_norm = {.kind = NormKind::kNone};
  /// Beside the mixer, reading what it reads: x = (x + mixer(y) + laurel(y)) / sqrt(2).
  std::optional<Laurel> laurel = {};
  /// Of a network with streams, in which the layer's input is added to all streams but the first.
  std::optional<AltUp> alt_up = {};
  std::optional<LayerInput> input = {};
  Norm input_output_norm = {.kind = NormKind::kNone};
  LayerScale scale = LayerScale::kNone;
  std::vector<float> output_scale = {};  ///< one number, or empty
};

/// Whether a vector of its position is added to the embedding of a token.
enum class Positions : uint8_t { kNone, kLearned };

/// From the residual stream to logits. Without a norm the stream is what it is.
struct Head {
  Norm norm;
  kernels::PackedMatrix weights = {};  ///< [vocab][width]; empty: the embedding again (tied)
  std::vector<float> bias = {};        ///< [vocab], or empty
  float scale = 1;                     ///< of the logits
  float soft_cap = 0;                  ///< of the logits behind it (numerics 3.12); 0 = none
  RowPart rows = {};                   ///< of weights and bias: those of a rank
};

/// Sizes are in elements.
struct Network {
  std::string_view family = {};  ///< general.architecture of its file
  int64_t vocab = 0;
  int64_t width = 0;                     ///< of the residual stream
  int64_t context = 0;                   ///< trained context in positions
  bool is_endless = false;               ///< made so (model/endless.h): `context` is no bound then
  float embedding_scale = 1;             ///< of the rows of the embedding
  float residual_scale = 1;              ///< of what a block adds to the residual stream
  kernels::PackedMatrix embedding = {};  ///< [vocab][width]
  Positions positions = Positions::kNone;
  std::vector<float> position_embedding = {};  ///< [context][width], or empty
  /// Kinds of tokens in a pair of texts (BERT): the first, and that of the second text; a text by
  /// itself is of the first. 0: there are none.
  int64_t token_types = 0;
  std::vector<float> token_type_embedding = {};     ///< [token_types][width], or empty
  Norm embedding_norm = {.kind = NormKind::kNone};  ///< of the sum of these: the residual stream
  LayerInputs layer_inputs = {};                    ///< what the layers with an input read
  Streams streams = {};                             ///< what the layers with AltUp work on
  std::vector<Layer> layers = {};
  /// Blocks of the file behind the layers, which predict further tokens from what the last layer
  /// gives (multi-token prediction): they are not run, and their tensors are left in the file.
  int64_t prediction_layers = 0;
  /// Positions that a query sees at most, where an indexer of each layer picks them (sparse
  /// attention). It is not run, its tensors are left in the file, and so `context` is no more: up
  /// to there all positions are picked. 0: there is none.
  int64_t picked_positions = 0;
  Head head = {};
  HiddenProjection hidden_projection = {};
  RankHead rank_head = {};       ///< of a model that ranks texts
  std::vector<Rope> ropes = {};  ///< those that the mixers name
};

/// Checks every number and how they fit together. Errors: kBadModel with the field, what was found,
/// what was expected; kUnsupported for what no block does yet.
Status Validate(const Network& network);

/// Every tensor of a valid network, with its place in it.
std::vector<TensorSlot> TensorsOf(Network& network);

/// The KV layout a valid network needs: of its layers, those that have K and V. Layers whose rows
/// see a window, or a chunk, are a group of their own.
kv::KvLayout KvLayoutOf(const Network& network, kernels::KvTypes types);

/// Floats of a state slot of a valid network: what its recurrent layers carry, one behind the
/// other. 0: it has none of them.
int64_t StateFloatsOf(const Network& network);

/// The place of the mixer behind one that is at `place`.
LayerPlace Behind(const Mixer& mixer, const LayerPlace& place);

/// The last layer of a valid network with a mixer: behind it rows are on their own.
int64_t LastMixingLayer(const Network& network);

/// True if rows see rows behind them: all rows of a text must be in one step, what is kept of them
/// is of use to no other, and there is no next token to ask for.
bool NeedsWholeTexts(const Network& network);

/// Numbers of a hidden state: of an embedding.
int64_t HiddenWidth(const Network& network);

/// The tables of all its ropes, for positions below `positions`.
std::vector<RopeTable> RopeTablesOf(const Network& network, int64_t positions);

}  // namespace skald::model
