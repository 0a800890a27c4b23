#include "sampling/sampler.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/exact_math.h"
#include "base/status_macros.h"
#include "kernels/kernels.h"
#include "sampling/adaptive.h"
#include "sampling/dry.h"

namespace skald::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Status BrokenLogits(std::span<const float> logits, const LogitScan& scan) {
  const std::string size = std::to_string(logits.size());
  if (!scan.has_nan) {
    return Status(ErrorCode::kNumeric, "logits: all " + size +
                                           " are -infinity; expected at least one token to be "
                                           "possible (broken weights or activations)");
  }
  const auto first = std::find_if(logits.begin(), logits.end(), [](float x) { return x != x; });
  return Status(ErrorCode::kNumeric,
                "logits: token " + std::to_string(first - logits.begin()) + " of " + size +
                    " is NaN; expected a number (broken weights or activations)");
}

bool Adjusts(const SamplingParams& params) {
  return !AreOff(params.penalties) || !IsOff(params.dry) || !params.logit_bias.empty();
}

// Before any filter it is the entropy of the whole row that moves the temperature.
bool LooksAtAll(const SamplingParams& params) {
  return params.mirostat.version != 0 || params.truncation.top_n_sigma > 0 ||
         (params.dynamic_temperature.range > 0 && params.order == SamplingOrder::kStandard);
}

}  // namespace

bool NeedsMask(const SampleInput& input, const SamplingParams& params) {
  // More looks at tokens cost as much as a mask.
  constexpr int32_t kMostDecisive = 256;
  const Truncation& truncation = params.truncation;
  if (params.temperature == 0) return false;
  if (LooksAtAll(params)) return true;
  if (truncation.top_k > 0) return truncation.top_k > kMostDecisive;
  // Sums of masses, and what a guess is compared with, are those of all tokens.
  return truncation.typical_p < 1 || truncation.top_p < 1 || truncation.xtc_probability > 0 ||
         params.dynamic_temperature.range > 0 || input.guess != nullptr || input.chances != nullptr;
}

Result<Sampler> Sampler::Create(int64_t vocab_size, kernels::Isa isa) {
  if (vocab_size < 1 || vocab_size > kMaxVocabSize) {
    return Status(ErrorCode::kUnsupported, "sampler: vocabulary of " + std::to_string(vocab_size) +
                                               " tokens; expected 1 to " +
                                               std::to_string(kMaxVocabSize));
  }
  return Sampler(vocab_size, kernels::TableFor(isa));
}

Sampler::Sampler(int64_t vocab_size, const kernels::KernelTable& kernels)
    : mass_(kernels.mass),
      uniform_(kernels.uniform),
      counts_(vocab_size),
      adjusted_(vocab_size),
      candidates_(vocab_size),
      block_max_(DivCeil(vocab_size, kLogitBlock)) {
  top_.reserve(vocab_size);
}

Result<LogitScan> Sampler::ScanModelLogits(std::span<const float> logits) {
  CHECK(logits.size() == counts_.size());
  const LogitScan scan = ScanLogits({logits}, block_max_);
  if (scan.has_nan || scan.max == -kInfinity) return BrokenLogits(logits, scan);
  return scan;
}

void Sampler::Adjust(const SampleInput& input, const SamplingParams& params) {
  const auto penalize = [&] {
    const PenaltyHistory history = {
        .prompt = input.prompt, .output = input.output, .counts = counts_};
    if (!AreOff(params.penalties)) ApplyPenalties(params.penalties, history, adjusted_);
    if (!IsOff(params.dry)) ApplyDry(params.dry, history, adjusted_);
  };
  switch (params.order) {
    case SamplingOrder::kStandard:
      penalize();
      ApplyLogitBias(params.logit_bias, adjusted_);
      break;
    case SamplingOrder::kLlamaCpp:
      ApplyLogitBias(params.logit_bias, adjusted_);
      penalize();
      break;
  }
}

std::span<Candidate> Sampler::Truncate(const ScannedRow& row, const Truncation& truncation,
                                       const Weighing& weighing, Odds* odds) {
  std::span<Candidate> survivors;
  const auto count = [&](bool is_on, int64_t Odds::*left) {
    if (odds != nullptr && is_on) odds->*left = std::ssize(survivors);
  };
  if (truncation.top_n_sigma > 0) {
    survivors = KeepTopNSigma(CollectAll(row), truncation.top_n_sigma, row);
    count(true, &Odds::left_top_n_sigma);
    if (truncation.top_k > 0) survivors = KeepTopK(survivors, truncation.top_k);
  } else if (truncation.top_k <= 0 && truncation.typical_p >= 1 && truncation.top_p < 1) {
    survivors = CollectTopP(row, truncation.top_p, weighing, candidates_);
    count(true, &Odds::left_top_p);
    return survivors;
  } else {
    survivors = CollectTopK(row.row, truncation.top_k, row.block_max, candidates_);
  }
  collected_ = survivors;
  count(truncation.top_k > 0, &Odds::left_top_k);
  survivors = KeepTypical(survivors, truncation.typical_p, weighing);
  count(truncation.typical_p < 1, &Odds::left_typical);
  survivors = KeepTopP(survivors, truncation.top_p, weighing);
  count(truncation.top_p < 1, &Odds::left_top_p);
  return survivors;
}

Sampled Sampler::Greedy(const ScannedRow& row, double mu) {
  return {.token = FirstLikeliest(row),
          .draw = {.logit = row.max, .mass = kFullMass, .total = kFullMass},
          .mu = mu};
}

std::span<Candidate> Sampler::CollectAll(const ScannedRow& row) {
  return CollectTopK(row.row, 0, row.block_max, candidates_);
}

Sampler::Choices Sampler::Filter(const ScannedRow& row, const SamplingParams& params,
                                 const SampleInput& input) {
  const bool has_mirostat = params.mirostat.version != 0;
  const bool moves = params.dynamic_temperature.range > 0;
  if (input.odds != nullptr) *input.odds = {};
  // llama.cpp applies temperature after the filters, so they see probabilities at temperature 1.
  const bool is_late = params.order == SamplingOrder::kLlamaCpp && !has_mirostat;
  Choices choices = {.survivors = {},
                     .weighing = {.temperature = is_late ? 1.0 : params.temperature,
                                  .masses = mass_,
                                  .uniforms = uniform_}};
  double& temperature = choices.weighing.temperature;
  if (moves && !is_late) temperature = TemperatureFor(CollectAll(row), params, mass_);
  if (has_mirostat) {
    choices.survivors = KeepUnsurprising(CollectAll(row), input.mu, choices.weighing);
    return choices;
  }
  const Truncation& truncation = params.truncation;
  choices.survivors = Truncate(row, truncation, choices.weighing, input.odds);
  choices.survivors = KeepMinP(choices.survivors, truncation.min_p, temperature);
  if (input.odds != nullptr && truncation.min_p > 0) {
    input.odds->left_min_p = std::ssize(choices.survivors);
  }
  choices.survivors = KeepXtc(choices.survivors, truncation, choices.weighing, input.key);
  if (is_late) {
    temperature = moves ? TemperatureFor(choices.survivors, params, mass_) : params.temperature;
  }
  return choices;
}

Sampled Sampler::Take(const Choices& choices, const SampleInput& input) {
  const auto [survivors, weighing] = choices;
  Sampled sampled = {.mu = input.mu};
  if (input.guess != nullptr) {
    sampled.token = KeepOrRedraw(survivors, weighing, *input.guess, input.key);
  } else {
    const uint64_t total = Weigh(survivors, weighing);
    const Candidate& winner = WinnerOf(survivors, weighing, input.key);
    sampled.token = winner.token;
    sampled.draw = {.logit = winner.logit, .mass = winner.mass, .total = total};
  }
  if (input.odds != nullptr) AddOdds(survivors, input, sampled.token);
  if (input.guess != nullptr) return sampled;
  if (input.chances != nullptr) {
    const auto added =
        input.chances->insert(input.chances->end(), survivors.begin(), survivors.end());
    std::sort(added, input.chances->end(),
              [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  }
  return sampled;
}

Sampled Sampler::Choose(const ScannedRow& row, const SamplingParams& params,
                        const SampleInput& input) {
  const Choices choices = Filter(row, params, input);
  if (params.mirostat.version == 0) return Take(choices, input);
  const Surprise surprise(choices.survivors, choices.weighing);
  Sampled sampled = Take(choices, input);
  const double bits = surprise.Of(row.row.logits[static_cast<size_t>(sampled.token)]);
  sampled.mu = NextMu(params.mirostat, input.mu, bits);
  return sampled;
}

Status Sampler::NothingLeft(const SampleInput& input) {
  RETURN_IF_ERROR(ScanModelLogits(input.logits).status());
  if (ScanLogits({input.logits, input.mask}, block_max_).max == -kInfinity) {
    return Status(ErrorCode::kInvalidArgument,
                  "constraint: the model rules out every token that may follow; expected at least "
                  "one to be possible");
  }
  return Status(ErrorCode::kInvalidArgument,
                input.mask.empty()
                    ? "logit_bias: every token that the model allows has a bias of -infinity; "
                      "expected at least one to remain"
                    : "logit_bias: every token that the model and the constraint allow has a bias "
                      "of -infinity; expected at least one to remain");
}

Result<ScannedRow> Sampler::Prepare(const SampleInput& input, const SamplingParams& params) {
  CHECK(input.logits.size() == counts_.size());
  CHECK(input.mask.empty() || input.mask.size() == MaskWords(counts_.size()));
  const bool adjusts = Adjusts(params);
  // NaN is looked for before a bias of -infinity can hide it.
  LogitRow row = {.logits = input.logits, .mask = adjusts ? TokenMask() : input.mask};
  LogitScan scan = ScanLogits(row, block_max_);
  if (scan.has_nan) return BrokenLogits(input.logits, scan);
  if (adjusts) {
    // Each logit is adjusted by itself, and -infinity stays: the mask can come last.
    std::copy(input.logits.begin(), input.logits.end(), adjusted_.begin());
    Adjust(input, params);
    row = {.logits = adjusted_, .mask = input.mask};
    scan = ScanLogits(row, block_max_);
  }
  if (scan.max == -kInfinity) return NothingLeft(input);
  return ScannedRow{.row = row, .max = scan.max, .block_max = block_max_};
}

Result<Sampled> Sampler::Sample(const SampleInput& input, const SamplingParams& params) {
  ASSIGN_OR_RETURN(const ScannedRow row, Prepare(input, params));
  Sampled sampled = params.temperature == 0 ? Greedy(row, input.mu) : Choose(row, params, input);
  if (params.temperature == 0 && input.odds != nullptr) {
    *input.odds = {.drawn = 1, .candidates = 1};
  }
  if (input.decisive != nullptr) AddDecisive(row, params, input, sampled.token);
  if (params.top_logprobs.has_value()) AddLogprobs(input, row, *params.top_logprobs, &sampled);
  if (input.odds != nullptr && (sampled.logprob || input.odds_rule == OddsRule::kOfModel)) {
    const double logprob = sampled.logprob
                               ? *sampled.logprob
                               : Logprob(input.logits[sampled.token], ModelMass(input, row));
    input.odds->model = ExactExp(logprob);
  }
  return sampled;
}

// Of a guess that was refused the masses are those of what was left, and the numbers of others.
void Sampler::AddOdds(std::span<const Candidate> survivors, const SampleInput& input,
                      TokenId token) {
  input.odds->candidates = std::ssize(survivors);
  if (input.guess != nullptr && token != input.guess->token) return;
  uint64_t total = 0;
  uint64_t mass = 0;
  for (const Candidate& each : survivors) {
    total += each.mass;
    if (each.token == token) mass = each.mass;
  }
  input.odds->drawn = static_cast<double>(mass) / static_cast<double>(total);
  if (input.guess != nullptr) return;
  input.odds->draw = UniformDouble(input.key, static_cast<uint32_t>(token));
}

RowMass Sampler::ModelMass(const SampleInput& input, const ScannedRow& row) {
  float max = row.max;
  const bool is_model = row.row.logits.data() == input.logits.data() && row.row.mask.empty();
  if (!is_model) max = ScanLogits({input.logits}, block_max_).max;
  return MassOfRow(input.logits, max, mass_);
}

void Sampler::AddDecisive(const ScannedRow& row, const SamplingParams& params,
                          const SampleInput& input, TokenId token) {
  const Truncation& truncation = params.truncation;
  input.decisive->clear();
  if (params.temperature == 0) return input.decisive->push_back(token);
  if (NeedsMask(input, params)) return;
  if (truncation.top_k > 0) {
    // All that the filters behind it saw: the best of a row are the best of what a mask leaves, if
    // it leaves them. Filters permute them where they stand.
    for (const Candidate& each : collected_) input.decisive->push_back(each.token);
    return;
  }
  *input.decisive = {FirstLikeliest(row), token};
}

void Sampler::AddLogprobs(const SampleInput& input, const ScannedRow& row, int64_t n,
                          Sampled* sampled) {
  const RowMass mass = ModelMass(input, row);
  FillTop(input.logits, n, mass);
  sampled->logprob = Logprob(input.logits[sampled->token], mass);
  sampled->top = top_;
}

Result<Sampler::Scored> Sampler::Score(std::span<const float> logits, TokenId token, int64_t n) {
  ASSIGN_OR_RETURN(const LogitScan scan, ScanModelLogits(logits));
  const RowMass mass = MassOfRow(logits, scan.max, mass_);
  FillTop(logits, n, mass);
  const auto index = static_cast<size_t>(token);
  const float logit = logits[index];
  const auto before =
      std::count_if(logits.begin(), logits.end(), [logit](float other) { return other > logit; }) +
      std::count(logits.begin(), logits.begin() + token, logit);
  return Scored{.logprob = Logprob(logit, mass), .rank = 1 + before, .top = top_};
}

Result<std::span<const TokenLogprob>> Sampler::TopLogprobs(std::span<const float> logits,
                                                           int64_t n) {
  ASSIGN_OR_RETURN(const LogitScan scan, ScanModelLogits(logits));
  FillTop(logits, n, MassOfRow(logits, scan.max, mass_));
  return std::span<const TokenLogprob>(top_);
}

Result<std::span<const TokenLogprob>> Sampler::Continuations(const SampleInput& input,
                                                             const SamplingParams& params,
                                                             int64_t n) {
  ASSIGN_OR_RETURN(const LogitScan scan, ScanModelLogits(input.logits));
  const RowMass mass = MassOfRow(input.logits, scan.max, mass_);
  const double best = Logprob(scan.max, mass);
  std::transform(input.logits.begin(), input.logits.end(), adjusted_.begin(), [&](float logit) {
    return static_cast<float>(best + kernels::MassExponent(logit, scan.max, 1.0));
  });
  Adjust(input, params);
  const LogitRow row = {.logits = adjusted_, .mask = input.mask};
  ScanLogits(row, block_max_);
  const std::span<Candidate> likeliest = CollectTopK(row, n, block_max_, candidates_);
  std::sort(likeliest.begin(), likeliest.end(), Precedes);
  top_.clear();
  for (const Candidate& candidate : likeliest) {
    top_.push_back({.token = candidate.token, .logprob = static_cast<double>(candidate.logit)});
  }
  return std::span<const TokenLogprob>(top_);
}

void Sampler::FillTop(std::span<const float> logits, int64_t n, const RowMass& mass) {
  top_.clear();
  if (n <= 0) return;
  const std::span<Candidate> likeliest = CollectTopK({logits}, n, block_max_, candidates_);
  std::sort(likeliest.begin(), likeliest.end(), Precedes);
  for (const Candidate& candidate : likeliest) {
    top_.push_back({.token = candidate.token, .logprob = Logprob(candidate.logit, mass)});
  }
}

}  // namespace skald::sampling
