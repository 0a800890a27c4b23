#include "server/api_error.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"

namespace skald::server {

ApiError BadRequest(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param)};
}

ApiError Unsupported(std::string param, std::string message) {
  return {.status = 400,
          .message = std::move(message),
          .param = std::move(param),
          .code = "unsupported_parameter"};
}

ApiError Overloaded(std::string message) {
  return {.status = 503, .message = std::move(message), .code = "overloaded"};
}

ApiError NoRoom() {
  return Overloaded("clients hold all the memory there is for bodies and answers");
}

ApiError AnswerTooLarge(int64_t bytes, int64_t most, std::string_view advice) {
  return {.message = fmt::format("the answer could have {} bytes, expected at most {}{}", bytes,
                                 most, advice),
          .code = "answer_too_large"};
}

ApiError TooMuchWork() {
  return {.message = "reading this request takes more work than a request may take",
          .code = "too_much_work"};
}

ApiError FromEngine(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kInvalidArgument: return BadRequest({}, status.message());
    case ErrorCode::kUnavailable: return Overloaded(status.message());
    case ErrorCode::kResourceExhausted:
      return {.status = 400, .message = status.message(), .code = "context_length_exceeded"};
    default: return {.status = 500, .message = "the engine could not run the request"};
  }
}

std::string ErrorType(const ApiError& error) {
  if (error.status == 429) return "rate_limit_error";
  return error.status >= 500 ? "server_error" : "invalid_request_error";
}

namespace {

std::string OpenAiJson(const ApiError& error) {
  const auto text_or_null = [](JsonWriter& json, const std::string& text) {
    text.empty() ? json.Null() : json.String(text);
  };
  JsonWriter json;
  json.BeginObject().Key("error").BeginObject();
  json.Key("message").String(error.message);
  json.Key("type").String(ErrorType(error));
  json.Key("param");
  text_or_null(json, error.param);
  json.Key("code");
  text_or_null(json, error.code);
  json.EndObject().EndObject();
  return json.Take();
}

// Anthropic's names of errors, by status.
std::string_view AnthropicType(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string AnthropicJson(const ApiError& error) {
  JsonWriter json;
  json.BeginObject().Key("type").String("error").Key("error").BeginObject();
  json.Key("type").String(AnthropicType(error.status)).Key("message").String(error.message);
  json.EndObject().EndObject();
  return json.Take();
}

std::string OllamaJson(const ApiError& error) {
  JsonWriter json;
  json.BeginObject().Key("error").String(error.message).EndObject();
  return json.Take();
}

}  // namespace

std::string ToJson(const ApiError& error, ErrorForm form) {
  switch (form) {
    case ErrorForm::kOpenAi: break;
    case ErrorForm::kAnthropic: return AnthropicJson(error);
    case ErrorForm::kOllama: return OllamaJson(error);
  }
  return OpenAiJson(error);
}

HttpResponse ToResponse(const ApiError& error, ErrorForm form) {
  HttpResponse response = {.status = error.status, .body = ToJson(error, form)};
  if (error.status == 503 || error.status == 429) {
    response.fields.push_back({"retry-after", std::to_string(error.retry_seconds)});
  } else {
    response.fields.push_back({"x-should-retry", "false"});
  }
  if (error.status == 401) response.fields.push_back({"www-authenticate", "Bearer"});
  return response;
}

}  // namespace skald::server
