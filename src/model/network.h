/// Network: a decoder network as a list of layers, numbers and tensors. A layer is a mixer and a
/// feed-forward; each kind of them is a block, a folder in blocks/.
///
/// A family (families/) makes the numbers from the keys of a file; load fills the tensors, which
/// the blocks declare; Transformer runs it.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/pack/panel.h"
#include "kv/kv_layout.h"
#include "model/blocks/experts/experts.h"
#include "model/blocks/gated/gated.h"
#include "model/blocks/gqa/gqa.h"
#include "model/norm.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// What a layer lets its rows exchange, and what it does with each of them.
///
///     x += mixer(mixer_norm(x));  x += feed_forward(feed_forward_norm(x))
struct Layer {
  Norm mixer_norm = {};
  std::variant<Gqa> mixer = {};
  Norm feed_forward_norm = {};
  std::variant<Gated, Experts> feed_forward = {};
};

/// From the residual stream to logits.
struct Head {
  Norm norm;
  kernels::PackedMatrix weights = {};  ///< [vocab][width]; empty: the embedding again (tied)
};

/// Sizes are in elements.
struct Network {
  std::string_view family = {};  ///< general.architecture of its file
  int64_t vocab = 0;
  int64_t width = 0;                     ///< of the residual stream
  int64_t context = 0;                   ///< trained context in positions
  kernels::PackedMatrix embedding = {};  ///< [vocab][width]
  std::vector<Layer> layers = {};
  /// Blocks of the file behind the layers, which predict further tokens from what the last layer
  /// gives (multi-token prediction): they are not run, and their tensors are left in the file.
  int64_t prediction_layers = 0;
  Head head = {};
  std::vector<Rope> ropes = {};  ///< those that the mixers name
};

/// Checks every number and how they fit together. Errors: kBadModel with the field, what was found,
/// what was expected; kUnsupported for what no block does yet.
Status Validate(const Network& network);

/// Every tensor of a valid network, with its place in it.
std::vector<TensorSlot> TensorsOf(Network& network);

/// The KV layout a valid network needs.
kv::KvLayout KvLayoutOf(const Network& network, kernels::KvType type);

/// The tables of all its ropes, for positions below `positions`.
std::vector<RopeTable> RopeTablesOf(const Network& network, int64_t positions);

}  // namespace skald::model
