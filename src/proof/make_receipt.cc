#include <utility>

#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "proof/receipt_seal.h"
#include "proof/row_chain.h"
#include "proof/row_recorder.h"
#include "skald/receipt.h"
#include "skald/version.h"

namespace skald {
namespace {

Status No(std::string_view what) {
  return Status(ErrorCode::kUnsupported, "no receipt for " + std::string(what));
}

ReceiptTokens TokensOf(std::span<const TokenId> tokens, bool hashes_only) {
  ReceiptTokens named = {.count = std::ssize(tokens), .sha256 = proof::HashOfTokens(tokens)};
  if (!hashes_only) named.tokens.assign(tokens.begin(), tokens.end());
  return named;
}

// What draws tokens: neither log probabilities, which only tell of them, nor -0, which JSON's
// readers do not keep apart from 0.
SamplingParams SamplingOf(SamplingParams params) {
  params.top_logprobs.reset();
  for (double* number :
       {&params.temperature, &params.truncation.top_p, &params.truncation.min_p,
        &params.truncation.typical_p, &params.truncation.top_n_sigma,
        &params.truncation.xtc_probability, &params.truncation.xtc_threshold,
        &params.penalties.repetition, &params.penalties.presence, &params.penalties.frequency,
        &params.dry.multiplier, &params.dry.base, &params.dynamic_temperature.range,
        &params.dynamic_temperature.exponent, &params.mirostat.tau, &params.mirostat.eta}) {
    *number += 0.0;
  }
  for (LogitBias& each : params.logit_bias) each.bias += 0.0f;
  return params;
}

}  // namespace

namespace proof {

std::string HashOfText(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Take();
}

std::string SealOf(Receipt receipt) {
  receipt.seal.clear();
  return HashOfText(ReceiptJson(receipt));
}

}  // namespace proof

Status CheckReceipt(const Request& request, const SpeculationOptions& speculation) {
  if (request.constraint.has_value()) {
    return No("an answer that a grammar holds to a form: what it allows is no part of a receipt");
  }
  if (request.beam_search.beams > 0) return No("a beam search: it draws no tokens");
  if (request.pooling != Pooling::kNone) return No("an embedding: it draws no tokens");
  if (request.stop.max_tokens == 0) return No("an answer without tokens");
  for (const size_t length : {request.sampling.logit_bias.size(), request.stop.stop_tokens.size(),
                              request.sampling.dry.breakers.size()}) {
    if (length > kMaxReceiptList) {
      return No("so many biases, stop tokens or breakers: one has room for " +
                std::to_string(kMaxReceiptList) + " of each");
    }
  }
  const bool rejects =
      speculation.kind != Speculation::kOff && speculation.rule == SpeculationRule::kRejection;
  if (!rejects) return Ok();
  return No("speculation under the rule rejection: its tokens depend on what was guessed");
}

Result<Receipt> MakeReceipt(const Model& model, const AnswerParts& parts) {
  RETURN_IF_ERROR(CheckReceipt(parts.request, {}));
  CHECK(parts.output.size() == parts.draws.size());
  if (parts.output.empty()) return No("an answer without tokens");
  const ModelInfo& info = model.info();
  Receipt receipt = {.version = std::string(kVersion),
                     .numerics = kNumericsVersion,
                     .model_name = info.name,
                     .model_sha256 = {},
                     .conventions = info.conventions,
                     .rope = info.rope,
                     .endless = info.endless,
                     .kv_types = parts.kv_types,
                     .template_sha256 = {},
                     .sampling = SamplingOf(parts.request.sampling),
                     .stop = parts.request.stop,
                     .sequence = parts.sequence,
                     .prompt = TokensOf(parts.request.prompt, parts.hashes_only),
                     .output = TokensOf(parts.output, parts.hashes_only),
                     .links = {},
                     .chain = {},
                     .seal = {}};
  receipt.stop.max_tokens = -1;
  ASSIGN_OR_RETURN(receipt.model_sha256, model.Sha256());
  if (parts.from_template) receipt.template_sha256 = proof::HashOfText(info.chat_template);
  proof::RowChain chain;
  for (size_t i = 0; i < parts.output.size(); ++i) {
    receipt.links += chain.Add(parts.output[i], parts.draws[i]);
  }
  receipt.chain = chain.digits();
  receipt.seal = proof::SealOf(receipt);
  return receipt;
}

}  // namespace skald
