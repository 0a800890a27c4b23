/// What the networks that read a whole text at once have in common (encoders): no causal mask, and
/// an embedding in place of logits.
#pragma once

#include "model/blocks/gated/gated.h"
#include "model/blocks/plain/plain.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// BERT's network (Devlin et al. 2019): token types, a norm of the embedding, LayerNorms of the
/// sums, and the head of one that ranks. Its feed-forwards are still to read.
Result<Network> ReadBert(const Keys& keys);

/// Takes the mask away from all attention. Where the file gives a window, half of it is on each
/// side. Errors: kUnsupported if the file says that the attention is causal.
Status SeeBothWays(const Keys& keys, Network* network);

/// The vectors of token types, where the file has some.
Status ReadTokenTypes(const Keys& keys, Network* network);

/// GELU as these models publish it, with erf; llama.cpp has the form with tanh for all
/// (docs/conventions.md).
Activation GeluOf(const Keys& keys);
Gate GeluGateOf(const Keys& keys);

/// A gated feed-forward with GELU in every layer, gate and up in one tensor or two.
Status ReadGeluGated(const Keys& keys, Network* network);

}  // namespace skald::model
