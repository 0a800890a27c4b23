/// What an answer's receipt (skald/receipt.h) asks of a server: whether there is one, and what it
/// takes.
#pragma once

#include <cstdint>
#include <optional>

#include "server/api_error.h"
#include "server/served_model.h"
#include "skald/request.h"

namespace skald::server {

/// 400 for a request whose answer can have no receipt, naming what stands in the way; nothing for
/// others.
std::optional<ApiError> RefuseReceipt(const ServedModel& served, const Request& request);

/// Bytes that the receipt of an answer to `request` of so many tokens has as JSON, at most.
int64_t ReceiptBytes(const Request& request, int64_t output_tokens);

/// What is kept of a token until the receipt is made.
inline constexpr int64_t kReceiptTokenBytes = sizeof(TokenId) + sizeof(TokenDraw);

}  // namespace skald::server
