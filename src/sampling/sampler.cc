#include "sampling/sampler.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/kernels.h"

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

}  // namespace

Result<Sampler> Sampler::Create(int64_t vocab_size, kernels::Isa isa) {
  if (vocab_size < 1 || vocab_size > kMaxVocabSize) {
    return Status(ErrorCode::kUnsupported, "sampler: vocabulary of " + std::to_string(vocab_size) +
                                               " tokens; expected 1 to " +
                                               std::to_string(kMaxVocabSize));
  }
  return Sampler(vocab_size, kernels::TableFor(isa).mass);
}

Sampler::Sampler(int64_t vocab_size, kernels::MassFn masses)
    : mass_(masses),
      counts_(vocab_size),
      adjusted_(vocab_size),
      candidates_(vocab_size),
      block_max_(DivCeil(vocab_size, kLogitBlock)) {
  top_.reserve(vocab_size);
}

Result<LogitScan> Sampler::ScanModelLogits(std::span<const float> logits) {
  CHECK(logits.size() == counts_.size());
  const LogitScan scan = ScanLogits(logits, block_max_);
  if (scan.has_nan || scan.max == -kInfinity) return BrokenLogits(logits, scan);
  return scan;
}

void Sampler::Adjust(const SampleInput& input, const SamplingParams& params) {
  const auto penalize = [&] {
    if (AreOff(params.penalties)) return;
    ApplyPenalties(params.penalties,
                   {.prompt = input.prompt, .output = input.output, .counts = counts_}, adjusted_);
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
                                       const Weighing& weighing) {
  if (truncation.top_k <= 0 && truncation.typical_p >= 1 && truncation.top_p < 1) {
    return CollectTopP(row, truncation.top_p, weighing, candidates_);
  }
  std::span<Candidate> survivors =
      CollectTopK(row.logits, truncation.top_k, row.block_max, candidates_);
  survivors = KeepTypical(survivors, truncation.typical_p, weighing);
  return KeepTopP(survivors, truncation.top_p, weighing);
}

TokenId Sampler::Choose(const ScannedRow& row, const SamplingParams& params,
                        const SampleInput& input) {
  // llama.cpp applies temperature after the filters, so they see probabilities at temperature 1.
  const double seen = params.order == SamplingOrder::kLlamaCpp ? 1.0 : params.temperature;
  std::span<Candidate> survivors =
      Truncate(row, params.truncation, {.temperature = seen, .masses = mass_});
  survivors = KeepMinP(survivors, params.truncation.min_p, seen);
  const Weighing weighing = {.temperature = params.temperature, .masses = mass_};
  if (input.guess != nullptr) return KeepOrRedraw(survivors, weighing, *input.guess, input.key);
  const TokenId token = Draw(survivors, weighing, input.key);
  if (input.chances != nullptr) {
    const auto added =
        input.chances->insert(input.chances->end(), survivors.begin(), survivors.end());
    std::sort(added, input.chances->end(),
              [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  }
  return token;
}

Result<Sampled> Sampler::Sample(const SampleInput& input, const SamplingParams& params) {
  ASSIGN_OR_RETURN(const LogitScan model_scan, ScanModelLogits(input.logits));
  std::span<const float> row = input.logits;
  float max = model_scan.max;
  if (!AreOff(params.penalties) || !params.logit_bias.empty()) {
    std::copy(input.logits.begin(), input.logits.end(), adjusted_.begin());
    Adjust(input, params);
    row = adjusted_;
    max = ScanLogits(row, block_max_).max;
    if (max == -kInfinity) {
      return Status(ErrorCode::kInvalidArgument,
                    "logit_bias: every token that the model allows has a bias of -infinity; "
                    "expected at least one to remain");
    }
  }
  Sampled sampled;
  sampled.token = params.temperature == 0 ? FirstTokenWith(row, block_max_, max)
                                          : Choose({row, max, block_max_}, params, input);
  if (params.top_logprobs.has_value()) {
    if (row.data() != input.logits.data()) ScanLogits(input.logits, block_max_);
    const RowMass mass = MassOfRow(input.logits, model_scan.max, mass_);
    FillTop(input.logits, *params.top_logprobs, mass);
    sampled.logprob = Logprob(input.logits[sampled.token], mass);
    sampled.top = top_;
  }
  return sampled;
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
  ScanLogits(adjusted_, block_max_);
  const std::span<Candidate> likeliest = CollectTopK(adjusted_, n, block_max_, candidates_);
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
  const std::span<Candidate> likeliest = CollectTopK(logits, n, block_max_, candidates_);
  std::sort(likeliest.begin(), likeliest.end(), Precedes);
  for (const Candidate& candidate : likeliest) {
    top_.push_back({.token = candidate.token, .logprob = Logprob(candidate.logit, mass)});
  }
}

}  // namespace skald::sampling
