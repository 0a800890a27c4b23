#include "sim/oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "sim/fake_network.h"

namespace skald::sim {
namespace {

bool EndsText(const StopRules& stop, TokenId token) {
  return (!stop.ignore_eos && token == kEnd) ||
         std::find(stop.stop_tokens.begin(), stop.stop_tokens.end(), token) !=
             stop.stop_tokens.end();
}

bool EndsWith(const std::vector<TokenId>& tokens, const std::vector<TokenId>& stop) {
  return !stop.empty() && tokens.size() >= stop.size() &&
         std::equal(stop.begin(), stop.end(), tokens.end() - static_cast<int64_t>(stop.size()));
}

SamplingParams ParamsAt(const Request& request, int64_t output) {
  SamplingParams params = request.sampling;
  if (output >= request.stop.min_tokens) return params;
  for (TokenId token = 0; token < kVocab; ++token) {
    if (EndsText(request.stop, token)) {
      params.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    }
  }
  return params;
}

Answer EmbedAlone(const Request& request) {
  std::array<double, kVocab> sum = {};
  uint64_t number = kStart;
  uint64_t hash = kStart;
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    number = Chain(number, request.prompt[i], static_cast<int64_t>(i), request.cache_namespace);
    hash = Take(hash, number);
    if (request.pooling == Pooling::kLast && i + 1 < request.prompt.size()) continue;
    std::array<float, kVocab> hidden;
    FillLogits(hash, hidden);
    for (size_t k = 0; k < hidden.size(); ++k) sum[k] += hidden[k];
  }
  const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
  Answer answer = {.tokens = {}};
  for (const double value : sum) answer.embedding.push_back(static_cast<float>(value / length));
  return answer;
}

}  // namespace

Answer RunAlone(const Client& client, int32_t index, int64_t context, sampling::Sampler* sampler) {
  const Request& request = client.request;
  Answer answer;
  if (request.pooling != Pooling::kNone) return EmbedAlone(request);
  if (request.stop.max_tokens == 0) return {.tokens = {}, .reason = FinishReason::kLength};
  uint64_t number = kStart;
  uint64_t hash = kStart;
  int64_t position = 0;
  const auto append = [&](TokenId token) {
    number = Chain(number, token, position, request.cache_namespace);
    hash = Take(hash, number);
    ++position;
  };
  for (const TokenId token : request.prompt) append(token);
  for (;;) {
    std::array<float, kVocab> logits;
    FillLogits(hash, logits);
    const auto output = static_cast<int64_t>(answer.tokens.size());
    const auto sampled = sampler->Sample({.logits = logits,
                                          .prompt = request.prompt,
                                          .output = answer.tokens,
                                          .key = {.seed = request.sampling.seed,
                                                  .sequence = static_cast<uint32_t>(index),
                                                  .position = static_cast<uint64_t>(position)}},
                                         ParamsAt(request, output));
    CHECK(sampled.ok());
    const TokenId token = sampled->token;
    answer.tokens.push_back(token);
    answer.reason = FinishReason::kStop;
    if (EndsText(request.stop, token) || EndsWith(answer.tokens, client.reader.stop)) return answer;
    answer.reason = FinishReason::kLength;
    if (output + 1 == request.stop.max_tokens) return answer;
    answer.reason = FinishReason::kContext;
    if (position == context) return answer;
    append(token);
  }
}

}  // namespace skald::sim
