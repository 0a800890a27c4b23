/// Split: a network for one of several ranks, which compute one forward pass together.
///
/// Every matrix is cut by its output rows, so that no sum is: what a rank computes are the same
/// bits as of the whole. What a block gives is gathered (blocks/linear.h, Gather) before the next
/// matrix reads it. The residual stream, norms, embedding and router stand in every rank.
///
/// | thing | a rank has | gathered |
/// |---|---|---|
/// | Q, K, V, their pages, attention | whole heads | the heads |
/// | latent attention | query heads; the latents of all | latents, the heads |
/// | delta rules, state spaces, their states | whole heads | the heads |
/// | short convolutions, their states | panels of channels | the channels |
/// | output of a mixer, down | panels of rows | the columns |
/// | gate, up, of each expert too | panels of rows | what goes into down |
/// | head | panels of rows | the logits, to the first rank |
#pragma once

#include "model/network.h"
#include "model/rank.h"
#include "skald/status.h"

namespace skald::model {

/// Leaves of a valid network without tensors what `rank` has of it; its tensors are then parts of
/// those of the whole. Errors: kUnsupported naming the layer and the numbers that do not divide.
Status Split(const Rank& rank, Network* network);

}  // namespace skald::model
