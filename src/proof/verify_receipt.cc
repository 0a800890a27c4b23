#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "proof/receipt_seal.h"
#include "proof/row_chain.h"
#include "proof/row_recorder.h"
#include "skald/receipt.h"
#include "skald/replay.h"

namespace skald {
namespace {

// Tokens of a step: the weights are read once for as many. More take memory, a row of logits each,
// and are hardly faster.
constexpr int64_t kRowsOfAStep = 64;
constexpr int64_t kLeastContext = 4096;

Verdict Refused(std::string_view part, std::string message) {
  return {.holds = false, .part = std::string(part), .message = std::move(message)};
}

std::string Unlike(std::string_view what, std::string_view expected, std::string_view found) {
  return std::string(what) + " is " + std::string(found) + ", the receipt says " +
         std::string(expected);
}

// The tokens that are meant: those of the receipt, or those that were given beside it.
struct Text {
  std::vector<TokenId> prompt;
  std::vector<TokenId> output;
};

std::optional<Verdict> CheckTokens(std::string_view name, const ReceiptTokens& told,
                                   const std::vector<TokenId>& tokens) {
  if (tokens.empty()) {
    return Refused("tokens", "the receipt has only a hash of the " + std::string(name) +
                                 ": its tokens are needed beside it");
  }
  if (proof::HashOfTokens(tokens) == told.sha256 && std::ssize(tokens) == told.count) {
    return std::nullopt;
  }
  return Refused("tokens", "the tokens of the " + std::string(name) +
                               " are not those that the receipt has a hash of");
}

// All that needs no computing; nothing if it fits.
std::optional<Verdict> CheckParts(const Model& model, const Receipt& receipt, const Text& text) {
  const ModelInfo& info = model.info();
  if (proof::SealOf(receipt) != receipt.seal) {
    return Refused("seal", "the seal does not fit the rest: the receipt was changed");
  }
  if (receipt.numerics != kNumericsVersion) {
    return Refused("numerics", Unlike("the numerics version", std::to_string(receipt.numerics),
                                      std::to_string(kNumericsVersion)));
  }
  if (info.conventions != receipt.conventions || !(info.rope == receipt.rope) ||
      !(info.endless == receipt.endless)) {
    return Refused("settings", "the model is loaded with other conventions, ropes or windows");
  }
  const bool has_template = !receipt.template_sha256.empty();
  if (has_template && receipt.template_sha256 != proof::HashOfText(info.chat_template)) {
    return Refused("template", "the chat template is not that of the model");
  }
  if (auto verdict = CheckTokens("prompt", receipt.prompt, text.prompt)) return verdict;
  return CheckTokens("output", receipt.output, text.output);
}

Request RequestOf(const Receipt& receipt, const std::vector<TokenId>& prompt) {
  return {.prompt = prompt, .sampling = receipt.sampling, .stop = receipt.stop};
}

// The draws, one after the other, beside what the receipt says of them.
class Comparison {
 public:
  Comparison(const Receipt& receipt, const std::vector<TokenId>& output)
      : receipt_(receipt), output_(output) {}

  // An error ends the replay: the rest would follow from what is wrong.
  Status Take(const ReplayedToken& drawn) {
    const auto index = static_cast<size_t>(drawn.index);
    const std::string at = "token " + std::to_string(drawn.index) + " of the output ";
    if (drawn.token != output_[index]) {
      return Fail(drawn.index, at + "is " + std::to_string(output_[index]) + ", the model says " +
                                   std::to_string(drawn.token));
    }
    const std::string_view link = chain_.Add(drawn.token, drawn.draw);
    if (receipt_.links.compare(index * proof::kLinkDigits, proof::kLinkDigits, link) != 0) {
      return Fail(drawn.index, at + "comes from other logits or masses than the receipt has");
    }
    if (!drawn.is_end || index + 1 == output_.size()) return Ok();
    return Fail(drawn.index, at + "ends the text, the receipt goes on behind it");
  }

  Verdict Answer() && {
    if (!failed_.part.empty()) return std::move(failed_);
    if (chain_.digits() == receipt_.chain) return {.holds = true};
    return Refused("answer", Unlike("the chain", receipt_.chain, chain_.digits()));
  }

 private:
  Status Fail(int64_t index, std::string message) {
    failed_ = Refused("answer", std::move(message));
    failed_.token = index;
    return Status(ErrorCode::kCancelled, "a token differs");
  }

  const Receipt& receipt_;
  const std::vector<TokenId>& output_;
  proof::RowChain chain_;
  Verdict failed_;
};

// What the receipt itself asks for can be impossible: that is a verdict. What the machine lacks is
// an error.
bool IsOfReceipt(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kUnsupported ||
         status.code() == ErrorCode::kNumeric;
}

Result<Verdict> DrawAgain(const Model& model, const Receipt& receipt, const Text& text,
                          const VerifyOptions& options) {
  const auto rows = std::ssize(text.prompt) + std::ssize(text.output);
  const Request request = RequestOf(receipt, text.prompt);
  Comparison comparison(receipt, text.output);
  const Status status =
      Replay(model,
             {.context = rows,
              .max_chunk = kRowsOfAStep,
              .threads = options.threads,
              .isa = options.isa,
              .kv_types = receipt.kv_types},
             {.request = request, .sequence = receipt.sequence, .output = text.output},
             [&comparison](const ReplayedToken& drawn) { return comparison.Take(drawn); });
  if (status.ok() || status.code() == ErrorCode::kCancelled) return std::move(comparison).Answer();
  if (!IsOfReceipt(status)) return status;
  return Refused("parameters", status.message());
}

}  // namespace

Result<Verdict> VerifyReceipt(const Model& model, const Receipt& receipt,
                              const VerifyOptions& options) {
  const Stopwatch watch;
  const Text text = {receipt.prompt.tokens.empty() ? options.prompt : receipt.prompt.tokens,
                     receipt.output.tokens.empty() ? options.output : receipt.output.tokens};
  if (auto verdict = CheckParts(model, receipt, text)) return *std::move(verdict);
  const int64_t context =
      options.context > 0 ? options.context : std::max(model.info().context_length, kLeastContext);
  if (receipt.prompt.count + receipt.output.count > context) {
    return Refused("tokens", "the receipt has " +
                                 std::to_string(receipt.prompt.count + receipt.output.count) +
                                 " tokens, expected at most " + std::to_string(context));
  }
  ASSIGN_OR_RETURN(const std::string sha256, model.Sha256());
  if (sha256 != receipt.model_sha256) {
    return Refused("model", Unlike("the model", receipt.model_sha256, sha256));
  }
  ASSIGN_OR_RETURN(Verdict verdict, DrawAgain(model, receipt, text, options));
  verdict.seconds = watch.Seconds();
  return verdict;
}

}  // namespace skald
