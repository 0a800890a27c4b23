#include "server/answer_writer.h"

#include <algorithm>
#include <utility>

#include "server/answer.h"
#include "server/anthropic/messages_answer.h"
#include "server/llama_cpp/infill_answer.h"
#include "server/ollama/ollama_answer.h"
#include "server/responses/response_answer.h"

namespace skald::server {

bool EndedByItself(const Choice& choice) {
  return *choice.reason == FinishReason::kStop && !choice.stop_string;
}

ScoredToken ScoredPrompt::At(size_t index, size_t top) const {
  const auto text = [&](TokenId id, double logprob) {
    return TokenText{std::string(tokenizer.TokenBytes(id)), logprob};
  };
  ScoredToken scored = {.token = text(tokens[index], logprobs->tokens[index - 1].logprob)};
  const auto likeliest = logprobs->TopOf(index - 1);
  for (const TokenLogprob& each : likeliest.first(std::min(top, likeliest.size())))
    scored.top.push_back(text(each.token, each.logprob));
  return scored;
}

std::vector<ChatPiece> PiecesOf(const Choice& choice) {
  if (!choice.pieces.empty() || choice.text.empty()) return choice.pieces;
  return {{.kind = ChatPiece::Kind::kText, .text = choice.text}};
}

std::unique_ptr<AnswerWriter> MakeAnswerWriter(AnswerStyle style, AnswerFrame frame) {
  switch (style) {
    case AnswerStyle::kOllamaChat:
    case AnswerStyle::kOllamaGenerate:
      return std::make_unique<OllamaAnswer>(style, std::move(frame));
    case AnswerStyle::kOpenAi: break;
    case AnswerStyle::kInfill: return std::make_unique<InfillAnswer>(std::move(frame));
    case AnswerStyle::kResponses: return std::make_unique<ResponseAnswer>(std::move(frame));
    case AnswerStyle::kAnthropic: return std::make_unique<MessagesAnswer>(std::move(frame));
  }
  return std::make_unique<Answer>(std::move(frame));
}

}  // namespace skald::server
