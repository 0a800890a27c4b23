/// Receipt: what anybody with the model needs to check that it gave an answer.
///
///     Result<Receipt> receipt = MakeReceipt(model, {.request = request,
///                                                   .output = output, .draws = draws});
///     const std::string text = ReceiptJson(*receipt);
///     Result<Receipt> read = ParseReceipt(text);
///     Result<Verdict> verdict = VerifyReceipt(model, *read, {});
///
/// An answer is a pure function of model, numerics version, prompt, parameters and seed, down to
/// the last bit. So a receipt names all of these, and has a number of each row that a token was
/// drawn from (TokenDraw), hashed row by row. Who has the model computes the rows again, all in one
/// prefill, and draws again. docs/receipts.md says what that proves, and what not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Of the form below; another number is refused.
inline constexpr int kReceiptForm = 1;
/// A receipt of more bytes is not read. (A token takes up to 16.)
inline constexpr size_t kMaxReceiptBytes = size_t{64} << 20;
/// Biases, stop tokens and DRY's breakers: so many of each have a place in one.
inline constexpr size_t kMaxReceiptList = size_t{1} << 18;

/// Prompt or output: the tokens, or what names them.
struct ReceiptTokens {
  int64_t count = 0;
  std::vector<TokenId> tokens = {};  ///< count of them, or none
  std::string sha256 = {};           ///< of the tokens as little-endian int32
};

/// What somebody says that a model said.
struct Receipt {
  std::string version;  ///< of the skald that made it
  int64_t numerics = 0;
  std::string model_name;    ///< for people
  std::string model_sha256;  ///< Model::Sha256
  // How the model was loaded and run, as far as it is part of what was computed.
  Conventions conventions = Conventions::kPublisher;
  RopeOverride rope = {};
  Endless endless = {};
  KvCacheTypes kv_types = {};
  std::string template_sha256;  ///< of ModelInfo::chat_template, if it made the prompt; else empty
  SamplingParams sampling = {};
  StopRules stop = {};  ///< but for max_tokens, which draws nothing
  int32_t sequence = 0;
  ReceiptTokens prompt;
  ReceiptTokens output;
  /// Of the chain behind each token of the output the first 4 bytes, 8 digits.
  std::string links;
  /// h_0 = SHA-256 of "skald receipt 1"; h_i = SHA-256 of the digits of h_(i-1), then of token i as
  /// bytes: token (int32), logit (float32),
  /// mass and total (uint64), little-endian. This is the last one.
  std::string chain;
  std::string seal;  ///< SHA-256 of ReceiptJson with an empty seal
};

/// What a receipt is made from, once the answer is there.
struct AnswerParts {
  const Request& request;
  int32_t sequence = 0;              ///< of the request
  std::span<const TokenId> output;   ///< at least one
  std::span<const TokenDraw> draws;  ///< TokenEvent::draw of each
  KvCacheTypes kv_types = {};        ///< EngineOptions
  bool from_template = false;        ///< the model's chat template made the prompt
  bool hashes_only = false;          ///< leave the tokens themselves out
};

/// Whether answers to `request` can have receipts. Errors: kUnsupported, naming what stands in the
/// way: a constraint, beams, an embedding, SpeculationRule::kRejection, a list beyond
/// kMaxReceiptList.
Status CheckReceipt(const Request& request, const SpeculationOptions& speculation);

/// Errors: as CheckReceipt for the request, Model::Sha256. Cost: the first receipt of a model reads
/// its file; the hash of a row takes less than a microsecond.
Result<Receipt> MakeReceipt(const Model& model, const AnswerParts& parts);

/// One JSON object, without spaces or a newline.
std::string ReceiptJson(const Receipt& receipt);

/// Reads a receipt that somebody gave: anything. One newline may stand behind it. Errors:
/// kInvalidArgument, saying which member is missing, unknown or not what it should be. Whether its
/// parts fit each other and the model is for VerifyReceipt.
Result<Receipt> ParseReceipt(std::string_view text);

/// How a receipt is checked.
struct VerifyOptions {
  int threads = 0;  ///< EngineOptions
  std::string isa = "best";
  int64_t context = 0;  ///< most tokens; 0: the model's context, at least 4096
  /// Of a receipt with hashes only: the tokens.
  std::vector<TokenId> prompt = {};
  std::vector<TokenId> output = {};
};

/// What came of it.
struct Verdict {
  bool holds = false;
  /// The part that does not fit: "seal", "numerics", "settings", "model", "template", "tokens",
  /// "parameters", "answer"; empty if all do.
  std::string part = {};
  std::string message = {};  ///< what was expected and found; one line
  /// With "answer": the first token of the output that the model did not say so.
  std::optional<int64_t> token = std::nullopt;
  double seconds = 0;  ///< of computing and drawing again
};

/// Computes prompt and output as one prefill and draws every token again. `model` must have been
/// loaded with the receipt's conventions, rope and endless. Errors: kIo and kResourceExhausted,
/// which say nothing about the receipt; whatever is wrong with the receipt is a Verdict.
Result<Verdict> VerifyReceipt(const Model& model, const Receipt& receipt,
                              const VerifyOptions& options);

}  // namespace skald
