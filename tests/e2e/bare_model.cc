#include "e2e/bare_model.h"

#include <memory>
#include <string_view>
#include <utility>

namespace skald {

struct Model::State {
  ModelInfo info;
  Tokenizer tokenizer;
  Result<ChatTemplate> chat_template;
};
Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const ModelInfo& Model::info() const { return state_->info; }
const Tokenizer& Model::tokenizer() const { return state_->tokenizer; }
const Result<ChatTemplate>& Model::chat_template() const { return state_->chat_template; }
Result<PairTokens> Model::EncodePair(std::string_view query, std::string_view document,
                                     StopCheck stop) const {
  return state_->tokenizer.EncodePair(query, document, stop);
}

Result<std::string> Model::Sha256() const { return std::string(64, '0'); }

Model BareModel(ModelInfo info, Tokenizer tokenizer, Result<ChatTemplate> chat_template) {
  return Model(std::make_shared<const Model::State>(
      Model::State{.info = std::move(info),
                   .tokenizer = std::move(tokenizer),
                   .chat_template = std::move(chat_template)}));
}

std::shared_ptr<const PromptLogprobs> FlatPrompt(const Request& request) {
  auto flat = std::make_shared<PromptLogprobs>();
  for (size_t i = 1; i < request.prompt.size(); ++i) {
    flat->tokens.push_back({.logprob = -0.5, .rank = 1});
    for (TokenId id = 0; id < *request.prompt_logprobs; ++id)
      flat->top.push_back({.token = id, .logprob = -0.5});
    flat->top_ends.push_back(flat->top.size());
  }
  return flat;
}

}  // namespace skald
