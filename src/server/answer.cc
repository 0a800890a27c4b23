#include "server/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "server/cached_tokens.h"

namespace skald::server {

namespace {

std::string_view ObjectName(GenerationKind kind, std::string_view suffix) {
  if (kind == GenerationKind::kCompletion) return "text_completion";
  return suffix.empty() ? "chat.completion" : "chat.completion.chunk";
}

void WriteHead(const AnswerFrame& frame, std::string_view suffix, JsonWriter& json) {
  json.Key("id").String(frame.id);
  json.Key("object").String(ObjectName(frame.kind, suffix));
  json.Key("created").Int(frame.created);
  json.Key("model").String(frame.model);
  json.Key("system_fingerprint").String(frame.system_fingerprint);
  json.Key("seed").Int(static_cast<int64_t>(frame.seed));  // as a request gives it: signed
}

void WriteUsage(const Usage& usage, JsonWriter& json) {
  json.Key("usage").BeginObject();
  json.Key("prompt_tokens").Int(usage.prompt_tokens);
  json.Key("completion_tokens").Int(usage.completion_tokens);
  json.Key("total_tokens").Int(usage.prompt_tokens + usage.completion_tokens);
  json.Key("prompt_tokens_details").BeginObject();
  WriteCachedTokens(usage.cached, json);
  json.EndObject().EndObject();
}

void WriteChatToken(const TokenText& token, JsonWriter& json) {
  json.Key("token").String(token.bytes);
  json.Key("logprob").Double(token.logprob);
  json.Key("bytes").BeginArray();
  for (const char c : token.bytes) json.Int(static_cast<unsigned char>(c));
  json.EndArray();
}

void WriteChatLogprobs(const Choice& choice, JsonWriter& json) {
  json.BeginObject().Key("content").BeginArray();
  for (const ScoredToken& scored : choice.scored) {
    json.BeginObject();
    WriteChatToken(scored.token, json);
    json.Key("top_logprobs").BeginArray();
    for (const TokenText& top : scored.top) {
      json.BeginObject();
      WriteChatToken(top, json);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().Key("refusal").Null().EndObject();
}

// A token's text in completions, whose log probabilities have no bytes beside it: OpenAI's form
// tells tokens apart that are parts of characters.
std::string CompletionToken(const std::string& bytes) {
  if (WellFormedPrefix(bytes) == bytes.size()) return bytes;
  std::string text = "bytes:";
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

// An object of texts. Tokens of equal text are one member, with the probability of the likeliest;
// the token that came is always there, with its own.
void WriteTopOfCompletion(const ScoredToken& scored, JsonWriter& json) {
  const std::string came = CompletionToken(scored.token.bytes);
  std::vector<std::pair<std::string, double>> members;
  for (const TokenText& top : scored.top) {
    std::string name = CompletionToken(top.bytes);
    const auto is_same = [&](const auto& member) { return member.first == name; };
    if (std::any_of(members.begin(), members.end(), is_same)) continue;
    const double logprob = name == came ? scored.token.logprob : top.logprob;
    members.emplace_back(std::move(name), logprob);
  }
  const auto is_came = [&](const auto& member) { return member.first == came; };
  if (std::none_of(members.begin(), members.end(), is_came))
    members.emplace_back(came, scored.token.logprob);
  json.BeginObject();
  for (const auto& [name, logprob] : members) json.Key(name).Double(logprob);
  json.EndObject();
}

// Where each token of a prompt begins in its text, in characters. Control tokens have none there,
// and the first word may have lost the space before it.
std::vector<int64_t> OffsetsOf(const ScoredPrompt& prompt) {
  std::vector<int64_t> lengths;
  int64_t all = 0;
  for (const TokenId id : prompt.tokens) {
    const Tokenizer& tokenizer = prompt.tokenizer;
    lengths.push_back(tokenizer.IsControl(id) ? 0 : CharactersIn(tokenizer.TokenBytes(id)));
    all += lengths.back();
  }
  const auto first = std::find_if(lengths.begin(), lengths.end(), [](int64_t n) { return n > 0; });
  if (first != lengths.end()) *first = std::max<int64_t>(0, *first + prompt.characters - all);
  int64_t offset = 0;
  for (int64_t& length : lengths) offset += std::exchange(length, offset);
  return lengths;
}

// The tokens of the answer, behind those of the prompt if it is repeated. Nothing stands before the
// first of these, and so nothing is said of it.
class CompletionLogprobs {
 public:
  CompletionLogprobs(const AnswerFrame& frame, const Choice& choice)
      : choice_(choice),
        prompt_(choice.prompt_json ? choice.scored_prompt.get() : nullptr),
        top_(static_cast<size_t>(frame.top_logprobs)) {}

  void Write(JsonWriter& json) const {
    json.BeginObject().Key("tokens").BeginArray();
    if (prompt_ != nullptr) {
      for (const TokenId id : prompt_->tokens)
        json.String(CompletionToken(std::string(prompt_->tokenizer.TokenBytes(id))));
    }
    for (const ScoredToken& scored : choice_.scored)
      json.String(CompletionToken(scored.token.bytes));
    json.EndArray().Key("token_logprobs").BeginArray();
    ForAll(json, 0, [&](const ScoredToken& scored) { json.Double(scored.token.logprob); });
    json.EndArray().Key("top_logprobs").BeginArray();
    ForAll(json, top_, [&](const ScoredToken& scored) { WriteTopOfCompletion(scored, json); });
    json.EndArray().Key("text_offset").BeginArray();
    WriteOffsets(json);
    json.EndArray().EndObject();
  }

 private:
  template <typename WriteToken>
  void ForAll(JsonWriter& json, size_t top, WriteToken write) const {
    if (prompt_ != nullptr) json.Null();
    for (size_t i = 1; prompt_ != nullptr && i < prompt_->tokens.size(); ++i)
      write(prompt_->At(i, top));
    for (const ScoredToken& scored : choice_.scored) write(scored);
  }

  void WriteOffsets(JsonWriter& json) const {
    if (prompt_ != nullptr) {
      for (const int64_t offset : OffsetsOf(*prompt_)) json.Int(offset);
    }
    int64_t offset = choice_.text_offset;
    for (const ScoredToken& scored : choice_.scored) {
      json.Int(offset);
      offset += CharactersOf(scored);
    }
  }

  const Choice& choice_;
  const ScoredPrompt* prompt_;  // nullptr: it is not repeated
  const size_t top_;
};

struct RankedToken {
  TokenId id;
  double logprob;
  int64_t rank;
};

void WriteRanked(const Tokenizer& tokenizer, const RankedToken& token, JsonWriter& json) {
  json.Key(std::to_string(token.id)).BeginObject().Key("logprob").Double(token.logprob);
  json.Key("rank").Int(token.rank);
  json.Key("decoded_token").String(tokenizer.TokenBytes(token.id)).EndObject();
}

// vLLM's form: an object for each token, by ids; the token that stands there comes first.
void WritePromptLogprobs(const AnswerFrame& frame, const Choice& choice, JsonWriter& json) {
  if (!frame.prompt_logprobs || !choice.scored_prompt) return;
  const ScoredPrompt& prompt = *choice.scored_prompt;
  json.Key("prompt_logprobs").BeginArray().Null();
  for (size_t i = 1; i < prompt.tokens.size(); ++i) {
    const TokenId id = prompt.tokens[i];
    const PromptLogprobs::Token& own = prompt.logprobs->tokens[i - 1];
    json.BeginObject();
    WriteRanked(prompt.tokenizer, {id, own.logprob, own.rank}, json);
    const auto likeliest = prompt.logprobs->TopOf(i - 1);
    const size_t most = std::min(static_cast<size_t>(*frame.prompt_logprobs), likeliest.size());
    for (size_t k = 0; k < most; ++k) {
      if (likeliest[k].token == id) continue;
      WriteRanked(prompt.tokenizer,
                  {likeliest[k].token, likeliest[k].logprob, static_cast<int64_t>(k) + 1}, json);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteLogprobs(const AnswerFrame& frame, const Choice& choice, JsonWriter& json) {
  json.Key("logprobs");
  if (!frame.with_logprobs) {
    json.Null();
  } else if (frame.kind == GenerationKind::kChat) {
    WriteChatLogprobs(choice, json);
  } else {
    CompletionLogprobs(frame, choice).Write(json);
  }
}

std::string_view ReasonOf(const AnswerFrame& frame, const Choice& choice) {
  if (choice.call_count == 0 || !EndedByItself(choice)) return OpenAiFinishReason(*choice.reason);
  return frame.calls == CallForm::kTools ? "tool_calls" : "function_call";
}

void WriteReason(const AnswerFrame& frame, const Choice& choice, JsonWriter& json) {
  json.Key("finish_reason");
  choice.reason ? json.String(ReasonOf(frame, choice)) : json.Null();
  if (!choice.reason) return;
  json.Key("stop_reason");
  choice.stop_string ? json.String(*choice.stop_string) : json.Null();
}

void WriteReceipt(const Choice& choice, JsonWriter& json) {
  if (choice.receipt_json) json.Key("receipt").Json(*choice.receipt_json);
}

std::string_view PromptOf(const Choice& choice) {
  return choice.prompt_json ? std::string_view(*choice.prompt_json) : std::string_view();
}

// Names of fields that nobody knows, as one field value.
std::string IgnoredNames(std::span<const std::string> names) {
  constexpr size_t kBytesMax = 400;
  std::string list;
  for (const std::string& name : names) {
    if (list.size() + name.size() > kBytesMax) return list + ", ...";
    if (!list.empty()) list += ", ";
    for (const char c : name) list += c > 0x20 && c < 0x7F && c != ',' ? c : '?';
  }
  return list;
}

}  // namespace

std::vector<HttpField> AnswerFields(const std::string& id, const AnswerNotes& notes) {
  std::vector<HttpField> fields = {{"x-request-id", id}};
  if (!notes.ignored.empty())
    fields.push_back({"x-skald-ignored-params", IgnoredNames(notes.ignored)});
  if (!notes.relaxed.empty()) fields.push_back({"x-skald-relaxed", IgnoredNames(notes.relaxed)});
  if (!notes.warnings.empty()) fields.push_back({"x-skald-warnings", std::string(notes.warnings)});
  return fields;
}

int64_t CharactersIn(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

int64_t CharactersOf(const ScoredToken& scored) {
  return scored.is_hidden ? 0 : CharactersIn(scored.token.bytes);
}

std::string_view OpenAiFinishReason(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

Answer::Answer(AnswerFrame frame) : frame_(std::move(frame)) {
  JsonWriter json;
  json.BeginObject();
  WriteHead(frame_, "chunk", json);
  json.EndObject();
  chunk_head_ = "data: " + json.Take();
  chunk_head_.back() = ',';  // the object goes on
}

std::string Answer::Whole(const std::vector<Choice>& choices, const Usage& usage) const {
  std::string whole;
  for (const std::string& piece : WholeInPieces(choices, usage)) whole += piece;
  return whole;
}

std::vector<std::string> Answer::WholeInPieces(const std::vector<Choice>& choices,
                                               const Usage& usage) const {
  std::vector<std::string> pieces;
  JsonWriter json;
  json.BeginObject();
  WriteHead(frame_, {}, json);
  json.Key("choices").BeginArray();
  for (size_t i = 0; i < choices.size(); ++i) {
    json.BeginObject().Key("index").Uint(i);
    if (frame_.kind == GenerationKind::kChat) {
      json.Key("message").BeginObject().Key("role").String("assistant");
      if (choices[i].pieces.empty())
        json.Key("content").String(PromptOf(choices[i]), choices[i].text);
      else
        WriteMessage(choices[i].pieces, frame_.calls, json);
      json.Key("refusal").Null().EndObject();
    } else {
      json.Key("text").String(PromptOf(choices[i]), choices[i].text);
    }
    WriteLogprobs(frame_, choices[i], json);
    WriteReason(frame_, choices[i], json);
    if (frame_.kind == GenerationKind::kCompletion) WritePromptLogprobs(frame_, choices[i], json);
    WriteReceipt(choices[i], json);
    json.EndObject();
    if (json.size() >= kPieceBytes) pieces.push_back(json.TakePart());
  }
  json.EndArray();
  // All choices of a chat have one prompt.
  if (frame_.kind == GenerationKind::kChat) WritePromptLogprobs(frame_, choices.front(), json);
  WriteUsage(usage, json);
  json.EndObject();
  pieces.push_back(json.Take());
  return pieces;
}

// `rest`: a JSON object whose members follow those of the head.
std::string Answer::Event(const std::string& rest) const {
  CHECK(rest.size() > 2 && rest.front() == '{');
  std::string event = chunk_head_;
  event.append(rest, 1);
  return event += "\n\n";
}

std::string Answer::Chunk(int64_t index, const Choice& choice, Position position) {
  JsonWriter json;
  json.BeginObject().Key("choices").BeginArray().BeginObject().Key("index").Int(index);
  if (frame_.kind == GenerationKind::kChat) {
    json.Key("delta").BeginObject();
    if (position == Position::kFirst) json.Key("role").String("assistant");
    if (choice.pieces.empty())
      json.Key("content").String(PromptOf(choice), choice.text);
    else
      WriteDelta(choice.pieces.front(), frame_.calls, json);
    json.EndObject();
  } else {
    json.Key("text").String(PromptOf(choice), choice.text);
  }
  WriteLogprobs(frame_, choice, json);
  json.Key("finish_reason").Null();
  json.EndObject().EndArray().EndObject();
  return Event(json.Take());
}

std::string Answer::End(int64_t index, const Choice& choice) {
  JsonWriter json;
  json.BeginObject().Key("choices").BeginArray().BeginObject().Key("index").Int(index);
  if (frame_.kind == GenerationKind::kChat) {
    json.Key("delta").BeginObject().EndObject();
  } else {
    json.Key("text").String("");
  }
  json.Key("logprobs").Null();
  WriteReason(frame_, choice, json);
  WriteReceipt(choice, json);
  json.EndObject().EndArray().EndObject();
  return Event(json.Take());
}

std::string Answer::UsageChunk(const Usage& usage) const {
  JsonWriter json;
  json.BeginObject().Key("choices").BeginArray().EndArray();
  WriteUsage(usage, json);
  json.EndObject();
  return Event(json.Take());
}

std::string Answer::Finish(const Usage& usage) {
  return (frame_.include_usage ? UsageChunk(usage) : std::string()) + "data: [DONE]\n\n";
}

std::string Answer::Error(const ApiError& error) { return "data: " + ToJson(error) + "\n\n"; }

}  // namespace skald::server
