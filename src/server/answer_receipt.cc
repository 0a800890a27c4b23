#include "server/answer_receipt.h"

#include <iterator>

#include "skald/receipt.h"

namespace skald::server {

std::optional<ApiError> RefuseReceipt(const ServedModel& served, const Request& request) {
  if (!served.receipts) {
    return Unsupported("receipt", "this server gives no receipts (skald serve --receipts)");
  }
  // The rule of guesses is one for the whole server, which then has no receipts.
  const Status status = CheckReceipt(request, {});
  if (status.ok()) return std::nullopt;
  return Unsupported("receipt", status.message());
}

int64_t ReceiptBytes(const Request& request, int64_t output_tokens) {
  constexpr int64_t kRest = 4096;
  constexpr int64_t kId = 11;    // ten figures and a comma
  constexpr int64_t kLink = 8;   // of the output
  constexpr int64_t kBias = 40;  // an id, a number and their brackets
  const int64_t ids = std::ssize(request.prompt) + output_tokens +
                      std::ssize(request.stop.stop_tokens) +
                      std::ssize(request.sampling.dry.breakers);
  return kRest + kId * ids + kLink * output_tokens +
         kBias * std::ssize(request.sampling.logit_bias);
}

}  // namespace skald::server
