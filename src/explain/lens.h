/// Lens: the token that a model would give if it ended behind a layer (nostalgebraist 2020, the
/// "logit lens").
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/options.h"
#include "engine/runner.h"
#include "model/step_tap.h"
#include "skald/explain.h"
#include "skald/model.h"

namespace skald::explain {

/// With memory of its own: what the engine has computed stays where it is.
class Lens {
 public:
  /// `options`: those of the engine that rows were tapped of; `model` outlives the lens. Errors: as
  /// of engine::MakeRunner.
  static Result<Lens> Create(const Model& model, const engine::ResolvedOptions& options);

  /// Of each row, in their order. Costs a row of logits each.
  std::vector<ExplainedLens> Read(std::span<const model::DepthRow> rows, TokenId drawn);

 private:
  Lens(const Model& model, std::unique_ptr<engine::Runner> runner)
      : model_(&model), runner_(std::move(runner)) {}

  const Model* model_;
  std::unique_ptr<engine::Runner> runner_;
};

}  // namespace skald::explain
