#include "explain/lens.h"

#include <algorithm>
#include <utility>

#include "base/exact_math.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "kernels/attention/attention.h"

namespace skald::explain {
namespace {

// Rows that go through the head together: it is read once for them.
constexpr int64_t kMostRows = 16;

// Nothing but logits is computed: no text, so one page.
engine::ResolvedOptions OfHead(engine::ResolvedOptions options) {
  options.context = kernels::kPageTokens;
  options.page_count = 1;
  options.windows = {};
  options.max_rows = kMostRows;
  options.max_logit_rows = kMostRows;
  options.state_slots = std::min<int64_t>(options.state_slots, 1);
  return options;
}

ExplainedLens ReadRow(std::span<const float> logits, TokenId drawn) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const auto likelihood = [&](float logit) {
    return ExactExp(static_cast<double>(logit) - static_cast<double>(*best));
  };
  double sum = 0;
  for (const float logit : logits) sum += likelihood(logit);
  const float of_drawn = logits[static_cast<size_t>(drawn)];
  return {.best = static_cast<TokenId>(best - logits.begin()),
          .probability = 1 / sum,
          .drawn_probability = likelihood(of_drawn) / sum};
}

}  // namespace

Result<Lens> Lens::Create(const Model& model, const engine::ResolvedOptions& options) {
  ASSIGN_OR_RETURN(auto runner, engine::MakeRunner(model, OfHead(options)));
  return Lens(model, std::move(runner));
}

std::vector<ExplainedLens> Lens::Read(std::span<const model::DepthRow> rows, TokenId drawn) {
  const FloatMode mode;
  std::vector<ExplainedLens> lenses;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), static_cast<size_t>(kMostRows)));
    rows = rows.subspan(some.size());
    std::vector<float> streams;
    for (const model::DepthRow& row : some) {
      streams.insert(streams.end(), row.stream.begin(), row.stream.end());
    }
    runner_->TurnDepthToLogits(streams);
    for (size_t i = 0; i < some.size(); ++i) {
      ExplainedLens lens = ReadRow(runner_->Logits(static_cast<int64_t>(i)), drawn);
      lens.layer = some[i].layer;
      lens.text = std::string(model_->tokenizer().TokenBytes(lens.best));
      lenses.push_back(std::move(lens));
    }
  }
  return lenses;
}

}  // namespace skald::explain
