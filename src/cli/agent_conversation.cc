#include "cli/agent_conversation.h"

#include <algorithm>

namespace skald::cli {
namespace {

constexpr int64_t kEditEvery = 5;
constexpr int64_t kSideQuestionsEvery = 4;
constexpr int64_t kSideQuestions = 2;

void Append(const std::vector<TokenId>& more, std::vector<TokenId>* tokens) {
  tokens->insert(tokens->end(), more.begin(), more.end());
}

}  // namespace

std::string_view AgentStepName(AgentStep step) {
  switch (step) {
    case AgentStep::kMessage: return "message";
    case AgentStep::kEdit: return "edit";
    case AgentStep::kRecorded: return "recorded";
    case AgentStep::kSideQuestion: break;
  }
  return "side question";
}

AgentConversation::AgentConversation(const TrafficShape& shape, int64_t vocab_size)
    : shape_(shape), vocab_size_(vocab_size), history_(Text(shape.prefix_len)) {}

std::vector<TokenId> AgentConversation::Text(int64_t count) {
  std::vector<TokenId> tokens;
  AppendRandomText(texts_++, count, vocab_size_, &tokens);
  return tokens;
}

AgentRequest AgentConversation::Ask(AgentStep step, const std::vector<TokenId>& message,
                                    int64_t answer) const {
  AgentRequest asked = {.step = step, .request = {.prompt = history_, .output_tokens = answer}};
  Append(message, &asked.request.prompt);
  return asked;
}

std::vector<AgentRequest> AgentConversation::NextTurn() {
  if (turn_ == shape_.num_prompts) return {};
  ++turn_;
  const bool edits = turn_ % kEditEvery == 0;
  if (edits) {
    last_message_.resize(last_message_.size() / 2);
    Append(Text(shape_.input_len - static_cast<int64_t>(last_message_.size())), &last_message_);
  } else {
    Append(last_message_, &history_);
    Append(last_answer_, &history_);
    last_message_ = Text(shape_.input_len);
  }
  std::vector<AgentRequest> requests;
  requests.push_back(
      Ask(edits ? AgentStep::kEdit : AgentStep::kMessage, last_message_, shape_.output_len));
  for (int64_t i = 0; turn_ % kSideQuestionsEvery == 0 && i < kSideQuestions; ++i)
    requests.push_back(Ask(AgentStep::kSideQuestion, Text(shape_.input_len), shape_.output_len));
  return requests;
}

void AgentConversation::TakeAnswer(std::span<const TokenId> answer) {
  last_answer_.assign(answer.begin() + static_cast<int64_t>(answer.size() / 2), answer.end());
}

int64_t AgentConversation::longest() const {
  return shape_.prefix_len + shape_.num_prompts * (shape_.input_len + shape_.output_len);
}

int64_t NewTokens::Count(std::span<const TokenId> prompt) const {
  int64_t known = 0;
  for (const std::vector<TokenId>& text : texts_) {
    const auto end = std::mismatch(prompt.begin(), prompt.end(), text.begin(), text.end()).first;
    known = std::max<int64_t>(known, end - prompt.begin());
  }
  return static_cast<int64_t>(prompt.size()) - known;
}

}  // namespace skald::cli
