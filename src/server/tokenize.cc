#include "server/tokenize.h"

#include <algorithm>

#include "base/json_writer.h"
#include "server/fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

// Bodies are bounded, so texts are.
constexpr size_t kAnyLength = static_cast<size_t>(Tokenizer::kMaxTextBytes);

void WriteTokens(const std::vector<TokenId>& tokens, JsonWriter& out) {
  out.BeginArray();
  for (const TokenId token : tokens) out.Int(token);
  out.EndArray();
}

// Of their texts.
int64_t TextBytes(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  size_t bytes = 0;
  for (const TokenId token : tokens) bytes += tokenizer.TokenBytes(token).size();
  return static_cast<int64_t>(bytes);
}

// Of an answer with these tokens and, `texts` times, the text of each. A text is at most six times
// as long as JSON (\\u0001), but then it is one of few; a number, names and brackets take some 30.
int64_t TokensBytes(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens, int64_t texts) {
  constexpr int64_t kNumber = 8;
  constexpr int64_t kNames = 24;
  const auto count = static_cast<int64_t>(tokens.size());
  return count * kNumber + texts * (count * kNames + 2 * TextBytes(tokenizer, tokens));
}

}  // namespace

OrError<std::string> AnswerTokenize(const ServedModel& served, const json::value& body,
                                    const AnswerLimits& limits) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  auto text = fields.Text("content", kAnyLength);
  if (!text) text = fields.Text("prompt", kAnyLength);
  const bool special = fields.Bool("add_special").value_or(false) ||
                       fields.Bool("add_special_tokens").value_or(false);
  const bool with_pieces = fields.Bool("with_pieces").value_or(false);
  const bool with_strings = fields.Bool("return_token_strs").value_or(false);
  fields.Refuse("messages");
  if (fields.error()) return *fields.error();
  if (!text) return BadRequest("content", "content (or prompt) is missing");
  const Tokenizer& tokenizer = served.model.tokenizer();
  const Result<std::vector<TokenId>> tokens = tokenizer.Encode(
      *text, {.boundary = special ? BoundaryTokens::kAsModel : BoundaryTokens::kNone,
              .stop = limits.work.stop_check()});
  if (!tokens.ok() && tokens.status().code() == ErrorCode::kCancelled) return TooMuchWork();
  if (!tokens.ok()) return BadRequest("content", tokens.status().message());
  const int64_t bytes =
      TokensBytes(tokenizer, *tokens, (with_pieces ? 1 : 0) + (with_strings ? 1 : 0));
  if (bytes > limits.bytes) return AnswerTooLarge(bytes, limits.bytes);
  if (limits.work.IsOver()) return TooMuchWork();
  JsonWriter out;
  out.BeginObject().Key("tokens");
  if (with_pieces) {
    out.BeginArray();
    for (const TokenId token : *tokens) {
      out.BeginObject().Key("id").Int(token);
      out.Key("piece").String(tokenizer.TokenBytes(token)).EndObject();
    }
    out.EndArray();
  } else {
    WriteTokens(*tokens, out);
  }
  out.Key("count").Uint(tokens->size());
  out.Key("max_model_len").Int(served.engine.context());
  if (with_strings) {
    out.Key("token_strs").BeginArray();
    for (const TokenId token : *tokens) out.String(tokenizer.TokenBytes(token));
    out.EndArray();
  }
  out.EndObject();
  return out.Take();
}

OrError<std::string> AnswerDetokenize(const ServedModel& served, const json::value& body,
                                      const AnswerLimits& limits) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  const json::value* found = fields.Any("tokens");
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr) return BadRequest("tokens", "tokens is not an array of token ids");
  const Tokenizer& tokenizer = served.model.tokenizer();
  std::vector<TokenId> tokens;
  for (const json::value& id : *list) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= tokenizer.vocab_size())
      return BadRequest("tokens", "tokens holds " + Shown(id) + ", expected a token id below " +
                                      std::to_string(tokenizer.vocab_size()));
    tokens.push_back(static_cast<TokenId>(id.get_int64()));
  }
  // The text stands in the answer twice.
  const int64_t least = 2 * TextBytes(tokenizer, tokens);
  if (least > limits.bytes) return AnswerTooLarge(least, limits.bytes);
  if (limits.work.IsOver()) return TooMuchWork();
  const std::string text = tokenizer.Decode(tokens, {.control = ControlTokens::kShow});
  std::string escaped;
  AppendJsonText(text, &escaped);
  const auto bytes = static_cast<int64_t>(2 * escaped.size());
  if (bytes > limits.bytes) return AnswerTooLarge(bytes, limits.bytes);
  JsonWriter out;
  out.BeginObject()
      .Key("content")
      .String(escaped, {})
      .Key("prompt")
      .String(escaped, {})
      .EndObject();
  return out.Take();
}

}  // namespace skald::server
