#include "skald/sampling_params.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "base/status_macros.h"

namespace skald {
namespace {

constexpr double kLeastTemperature = 1e-6;
constexpr double kLargestTemperature = 1e6;
constexpr double kLeastRepetition = 0.01;
constexpr double kLargestRepetition = 100;
constexpr double kLargestPenalty = 100;

/// The shortest text that reads back as `value`.
std::string Text(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

Status Refuse(std::string_view field, const std::string& found, std::string_view expected) {
  return Status(ErrorCode::kInvalidArgument,
                std::string(field) + ": found " + found + "; expected " + std::string(expected));
}

/// Bounds of a field, both allowed. A NaN is outside.
struct Bounds {
  double least = 0;
  double most = 0;
  bool Contain(double value) const { return value >= least && value <= most; }
};

/// Refuses a `value` outside `bounds`; `meaning` says what the bounds mean to the user.
Status CheckField(std::string_view field, double value, Bounds bounds, std::string_view meaning) {
  if (bounds.Contain(value)) return Ok();
  return Refuse(field, Text(value),
                Text(bounds.least) + " to " + Text(bounds.most) + std::string(meaning));
}

constexpr double kHundred = 100;
constexpr Bounds kUpToHundred = {0, kHundred};

Status ValidateTruncation(const Truncation& truncation) {
  if (truncation.top_k < 0) {
    return Refuse("top_k", std::to_string(truncation.top_k), "a positive number, or 0 for off");
  }
  constexpr Bounds kFraction = {0, 1};
  RETURN_IF_ERROR(CheckField("top_p", truncation.top_p, kFraction, " (1 is off)"));
  RETURN_IF_ERROR(CheckField("min_p", truncation.min_p, kFraction, " (0 is off)"));
  RETURN_IF_ERROR(CheckField("typical_p", truncation.typical_p, kFraction, " (1 is off)"));
  RETURN_IF_ERROR(CheckField("top_n_sigma", truncation.top_n_sigma, kUpToHundred, " (0 is off)"));
  RETURN_IF_ERROR(
      CheckField("xtc_probability", truncation.xtc_probability, kFraction, " (0 is off)"));
  return CheckField("xtc_threshold", truncation.xtc_threshold, kFraction, "");
}

Status ValidateBreakers(const std::vector<TokenId>& breakers, int64_t vocab_size) {
  TokenId before = -1;
  for (const TokenId token : breakers) {
    if (token <= before || token >= vocab_size) {
      return Refuse("DRY's breakers", "token " + std::to_string(token),
                    "tokens of this model, ascending");
    }
    before = token;
  }
  return Ok();
}

Status ValidateDry(const Dry& dry, int64_t vocab_size) {
  constexpr Bounds kBase = {1, kHundred};
  RETURN_IF_ERROR(CheckField("dry_multiplier", dry.multiplier, kUpToHundred, " (0 is off)"));
  RETURN_IF_ERROR(CheckField("dry_base", dry.base, kBase, ""));
  if (dry.allowed_length < 1) {
    return Refuse("dry_allowed_length", std::to_string(dry.allowed_length), "1 or more");
  }
  if (dry.last_n < -1) {
    return Refuse("dry_penalty_last_n", std::to_string(dry.last_n),
                  "a number of tokens, 0 for off or -1 for everything");
  }
  return ValidateBreakers(dry.breakers, vocab_size);
}

Status ValidateMoving(const SamplingParams& params) {
  const DynamicTemperature& dynamic = params.dynamic_temperature;
  RETURN_IF_ERROR(CheckField("dynatemp_range", dynamic.range, kUpToHundred, " (0 is off)"));
  RETURN_IF_ERROR(CheckField("dynatemp_exponent", dynamic.exponent, kUpToHundred, ""));
  const Mirostat& mirostat = params.mirostat;
  if (mirostat.version != 0 && mirostat.version != 2) {
    return Refuse("mirostat", std::to_string(mirostat.version), "0 (off) or 2");
  }
  constexpr Bounds kRate = {0, 10};
  RETURN_IF_ERROR(CheckField("mirostat_tau", mirostat.tau, kUpToHundred, ""));
  return CheckField("mirostat_eta", mirostat.eta, kRate, "");
}

Status ValidatePenalties(const Penalties& penalties) {
  constexpr Bounds kRepetition = {kLeastRepetition, kLargestRepetition};
  constexpr Bounds kPenalty = {-kLargestPenalty, kLargestPenalty};
  RETURN_IF_ERROR(
      CheckField("repetition penalty", penalties.repetition, kRepetition, " (1 is off)"));
  RETURN_IF_ERROR(CheckField("presence penalty", penalties.presence, kPenalty, " (0 is off)"));
  RETURN_IF_ERROR(CheckField("frequency penalty", penalties.frequency, kPenalty, " (0 is off)"));
  if (penalties.last_n < -1) {
    return Refuse("penalty window (last_n)", std::to_string(penalties.last_n),
                  "a number of tokens, 0 for off or -1 for everything");
  }
  return Ok();
}

Status ValidateBias(const LogitBias& entry, int64_t vocab_size) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (entry.token < 0 || entry.token >= vocab_size) {
    return Refuse("logit_bias", "token " + std::to_string(entry.token),
                  "0 to " + std::to_string(vocab_size - 1) + ", a token of this model");
  }
  if (!(entry.bias < kInfinity)) {
    return Refuse("logit_bias",
                  "bias " + Text(entry.bias) + " for token " + std::to_string(entry.token),
                  "a finite number, or -infinity to ban the token");
  }
  return Ok();
}

}  // namespace

Status Validate(const SamplingParams& params, int64_t vocab_size) {
  constexpr Bounds kTemperature = {kLeastTemperature, kLargestTemperature};
  if (params.temperature != 0) {
    RETURN_IF_ERROR(
        CheckField("temperature", params.temperature, kTemperature, ", or 0 for greedy"));
  }
  RETURN_IF_ERROR(ValidateTruncation(params.truncation));
  RETURN_IF_ERROR(ValidatePenalties(params.penalties));
  RETURN_IF_ERROR(ValidateDry(params.dry, vocab_size));
  RETURN_IF_ERROR(ValidateMoving(params));
  for (const LogitBias& entry : params.logit_bias) {
    RETURN_IF_ERROR(ValidateBias(entry, vocab_size));
  }
  if (params.top_logprobs.has_value()) {
    constexpr Bounds kCount = {0, kMaxTopLogprobs};
    RETURN_IF_ERROR(CheckField("top_logprobs", *params.top_logprobs, kCount, ""));
  }
  return Ok();
}

}  // namespace skald
