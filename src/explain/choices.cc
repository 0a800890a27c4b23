#include "explain/choices.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "base/status_macros.h"
#include "sampling/adaptive.h"
#include "sampling/dry.h"

namespace skald::explain {
namespace {

using sampling::Candidate;

bool Adjusts(const SamplingParams& params) {
  return !sampling::AreOff(params.penalties) || !sampling::IsOff(params.dry) ||
         !params.logit_bias.empty();
}

// The distribution of the model itself.
SamplingParams OfModel(const SamplingParams& params) {
  return {.temperature = 1,
          .truncation = {.top_k = 0, .top_p = 1, .min_p = 0},
          .seed = params.seed,
          .order = params.order};
}

RandomKey KeyOf(const ChoiceInput& input, uint64_t seed) {
  return {.seed = seed, .position = input.prompt.size() + input.output.size()};
}

uint64_t MassOf(const std::vector<Candidate>& chances) {
  uint64_t total = 0;
  for (const Candidate& each : chances) total += each.mass;
  return total;
}

// What stands for a token in chances, which are ascending.
uint64_t MassOf(const std::vector<Candidate>& chances, TokenId token) {
  const auto found =
      std::lower_bound(chances.begin(), chances.end(), token,
                       [](const Candidate& each, TokenId id) { return each.token < id; });
  return found != chances.end() && found->token == token ? found->mass : 0;
}

// The likeliest, and the drawn one wherever it stands among them.
std::vector<TokenId> TokensToShow(std::vector<Candidate> chances, TokenId drawn) {
  const size_t count = std::min(chances.size(), kMostChances);
  std::partial_sort(chances.begin(), chances.begin() + static_cast<std::ptrdiff_t>(count),
                    chances.end(), sampling::Precedes);
  chances.resize(count);
  std::vector<TokenId> tokens;
  for (const Candidate& each : chances) tokens.push_back(each.token);
  if (std::find(tokens.begin(), tokens.end(), drawn) == tokens.end()) tokens.push_back(drawn);
  return tokens;
}

// The race that decides (filters.h); for people, so the machine's own logarithm will do.
void AddRace(const RandomKey& key, ExplainedChoice* choice) {
  for (ExplainedChance& chance : choice->chances) {
    const double p = chance.probabilities.back();
    if (!(p > 0)) continue;
    const double u = UniformDouble(key, static_cast<uint32_t>(chance.token));
    chance.race = -std::log1p(-u) / p;
  }
}

}  // namespace

Choices::Choices(sampling::Sampler sampler, SamplingParams params)
    : sampler_(std::move(sampler)),
      params_(std::move(params)),
      stages_(StagesOf(params_)),
      mu_(sampling::FirstMu(params_.mirostat)) {}

// Each stage has the filters of the one before and one more, in the order of filters.h.
std::vector<Choices::Stage> Choices::StagesOf(const SamplingParams& params) {
  SamplingParams stage = OfModel(params);
  std::vector<Stage> stages = {{"model", stage}};
  const auto add = [&](bool is_on, const char* name, auto change) {
    if (!is_on) return;
    change();
    stages.push_back({name, stage});
  };
  add(Adjusts(params), "penalties, bias", [&] {
    stage.penalties = params.penalties;
    stage.dry = params.dry;
    stage.logit_bias = params.logit_bias;
  });
  if (params.temperature == 0) return stages;
  const bool has_mirostat = params.mirostat.version != 0;
  const bool warms = params.temperature != 1 || params.dynamic_temperature.range > 0;
  const bool is_late = params.order == SamplingOrder::kLlamaCpp && !has_mirostat;
  const auto warm = [&] {
    stage.temperature = params.temperature;
    stage.dynamic_temperature = params.dynamic_temperature;
  };
  add(warms && !is_late, "temperature", warm);
  const Truncation& filters = params.truncation;
  Truncation& on = stage.truncation;
  add(has_mirostat, "mirostat", [&] { stage.mirostat = params.mirostat; });
  if (has_mirostat) return stages;
  add(filters.top_n_sigma > 0, "top-n-sigma", [&] { on.top_n_sigma = filters.top_n_sigma; });
  add(filters.top_k > 0, "top-k", [&] { on.top_k = filters.top_k; });
  add(filters.typical_p < 1, "typical", [&] { on.typical_p = filters.typical_p; });
  add(filters.top_p < 1, "top-p", [&] { on.top_p = filters.top_p; });
  add(filters.min_p > 0, "min-p", [&] { on.min_p = filters.min_p; });
  add(filters.xtc_probability > 0, "XTC", [&] {
    on.xtc_probability = filters.xtc_probability;
    on.xtc_threshold = filters.xtc_threshold;
  });
  add(warms && is_late, "temperature", warm);
  return stages;
}

Result<sampling::Sampled> Choices::Sample(const ChoiceInput& input, const SamplingParams& params,
                                          Chances* chances) {
  chances->clear();
  return sampler_.Sample({.logits = input.logits,
                          .prompt = input.prompt,
                          .output = input.output,
                          .key = KeyOf(input, params.seed),
                          .mu = mu_,
                          .chances = chances},
                         params);
}

void Choices::AddStage(const Stage& stage, const Chances& chances, ExplainedChoice* choice) {
  const auto total = static_cast<double>(MassOf(chances));
  choice->filters.push_back({.name = stage.name, .left = std::ssize(chances)});
  for (ExplainedChance& chance : choice->chances) {
    const auto mass = static_cast<double>(MassOf(chances, chance.token));
    chance.probabilities.push_back(mass / total);
  }
}

Result<ExplainedChoice> Choices::Explain(const ChoiceInput& input) {
  ExplainedChoice choice = {.drawn = input.drawn};
  Chances chances;
  double next_mu = mu_;
  for (const Stage& stage : stages_) {
    ASSIGN_OR_RETURN(const sampling::Sampled sampled, Sample(input, stage.params, &chances));
    next_mu = sampled.mu;
    if (choice.filters.empty()) {
      for (const TokenId token : TokensToShow(chances, input.drawn)) {
        choice.chances.push_back({.token = token});
      }
    }
    AddStage(stage, chances, &choice);
  }
  if (params_.temperature == 0) {
    AddStage({"greedy", params_}, {{.token = input.drawn, .mass = 1}}, &choice);
  } else {
    AddRace(KeyOf(input, params_.seed), &choice);
  }
  mu_ = next_mu;
  return choice;
}

}  // namespace skald::explain
