/// Networks that rank texts: what a family needs to read the head behind its last layer.
#pragma once

#include <optional>

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// How models of a family rank, as far as their files do not say.
struct RankForm {
  Pooling pooling = Pooling::kFirst;
  std::optional<RankFunction> function = {};  ///< of the dense layer; nothing: there is none
};

/// As BERT's classification head does: that of the first token's state, a dense layer with tanh.
inline constexpr RankForm kRankAsBert = {.pooling = Pooling::kFirst,
                                         .function = RankFunction::kTanh};

/// The head, where the file has one: the tensors "cls.output" and "cls", "cls.norm", or "cls" alone
/// of one row. Errors: kBadModel; kUnsupported for more outputs than one, which sort texts into
/// classes, but the labels "yes" and "no" of a network that reads a text in one direction.
Status ReadRankHead(const Keys& keys, const RankForm& form, Network* network);

}  // namespace skald::model
