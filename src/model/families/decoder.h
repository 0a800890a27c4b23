/// What nearly every family has in common: the network that llama began, under the keys that most
/// of its descendants kept. A family reads it and changes what it does in another way.
#pragma once

#include <vector>

#include "kernels/rope/rope.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// Width, vocabulary, context and layers with their norms, of kind `norm`, with the epsilon that
/// its key gives, those behind the blocks too, which are none. The blocks are still to read.
Result<Network> ReadFrame(const Keys& keys, NormKind norm = NormKind::kRms);

/// A network of layers with grouped-query attention, one RoPE and RMSNorm before each block. The
/// feed-forwards are still to read. Sizes that files may give for each layer are read for each.
/// Where a file says that attention is not causal, it has no mask (DropMask): such models embed.
Result<Network> ReadDecoder(const Keys& keys, kernels::RopePairing pairing,
                            NormKind norm = NormKind::kRms);

/// Takes the last layers away which, by the file's key, predict further tokens: they are no part of
/// the network (Network::prediction_layers). Call it when every layer has been read: files count
/// these among the others. Errors: kBadModel if no layer is left.
Status DropPredictionLayers(const Keys& keys, Network* network);

/// Errors: kUnsupported if the file says that it has experts.
Status RefuseMixture(const Keys& keys);

/// A SwiGLU in every layer. Errors: kUnsupported for a mixture of experts.
Status ReadGated(const Keys& keys, Network* network);

/// The same, whatever the file says of experts.
Status ReadDense(const Keys& keys, Network* network);

/// A feed-forward without a gate in every layer.
Status ReadPlain(const Keys& keys, Network* network);

/// Norms behind the blocks, of the kind that stands before them.
void AddNormsBehind(Network* network);

/// The same in place of those before them.
void MoveNormsBehind(Network* network);

/// YaRN's beta_fast and beta_slow, which ReadDecoder reads for most networks.
Status ReadYarnBetas(const Keys& keys, Rope* rope);

/// Layers whose feed-forward reads what the mixer reads.
void MakeParallel(Network* network);

/// The factors of the Granite networks, and whether they turn anything.
Status ReadGraniteFactors(const Keys& keys, Network* network);

/// A second rope, number 1, for layers with windows: with a base of its own, unscaled, without
/// factors.
Status AddNearRope(const Keys& keys, Network* network);

/// Layers without a window see all and turn nothing.
void SeeAllUnturned(const std::vector<bool>& windows, Network* network);

/// Takes the causal mask away from all attention that has one. Of a window half is on each side
/// then.
void DropMask(Network* network);

/// Norms of heads, where the file has them: LayerNorm, of each head with a weight of its own.
void AddNormsOfEachHead(const Keys& keys, Network* network);

/// Whether each layer sees a window only: the key attention.sliding_window_pattern, a flag for each
/// layer or one number, of which each such number of layers has a last one that sees all; without
/// the key `period` is that number.
Result<std::vector<bool>> ReadWindowPattern(const Keys& keys, const Network& network,
                                            int64_t period);

}  // namespace skald::model
