/// ApiError: an answer that is a refusal, in the form of the API that was asked.
///
/// The message is made from a fixed catalogue of sentences and the request's own words: never a
/// path, an address, or what a library says (docs/server.md lists status and code).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "server/http_message.h"
#include "skald/status.h"

namespace skald::server {

/// {"error": {"message", "type", "param", "code"}} and the status that goes with it.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  ///< the field at fault; empty = null
  std::string code = {};   ///< "context_length_exceeded"; empty = null
  int retry_seconds = 1;   ///< of 429 and 503: after how long another try can help
};

/// What was asked for, or the refusal.
template <typename T>
using OrError = std::variant<T, ApiError>;

/// 400: the request makes no sense as written.
ApiError BadRequest(std::string param, std::string message);
/// 400: a field that would change the answer, which this server does not have.
ApiError Unsupported(std::string param, std::string message);
/// 503 with Retry-After: not now.
ApiError Overloaded(std::string message);
/// 503: the budget of bytes that all clients share (byte_budget.h) is spent.
ApiError NoRoom();
/// 400: the answer could have `bytes`, more than `most`. `advice` follows, with its punctuation.
ApiError AnswerTooLarge(int64_t bytes, int64_t most, std::string_view advice = {});

/// 400: reading the request takes more processor time than a request may take.
ApiError TooMuchWork();

/// What the engine's refusal of a request is for the client: 400 for what is wrong with the
/// request, 503 for a full queue.
ApiError FromEngine(const Status& status);

/// "invalid_request_error", "server_error", "rate_limit_error": by status.
std::string ErrorType(const ApiError& error);

/// Whose form an error has.
enum class ErrorForm : uint8_t {
  kOpenAi,
  kAnthropic,  ///< {"type": "error", "error": {"type", "message"}}
  kOllama,     ///< {"error": "message"}
};

/// The error object as JSON.
std::string ToJson(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);

/// As an answer: with Retry-After where trying again can help, x-should-retry: false where not.
HttpResponse ToResponse(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);

}  // namespace skald::server
