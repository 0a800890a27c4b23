#include "schedules/answers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "model/transformer.h"
#include "sim/seeded.h"

namespace skald::schedules {
namespace {

// The last one has all partitions of attention.
constexpr int64_t kLengths[] = {3, 9, 24, 33, 45, 70, kContext};

std::vector<std::vector<TokenId>> DrawTexts(int64_t vocab, int64_t context) {
  sim::Seeded random(7);
  std::vector<std::vector<TokenId>> texts;
  for (const int64_t length : kLengths) {
    std::vector<TokenId> text;
    for (int64_t i = 0; i < std::min(length, context); ++i) {
      text.push_back(static_cast<TokenId>(random.Between(3, vocab - 1)));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// Adds what is given for the rows of a text from `position` on.
void Step(std::span<const TokenId> tokens, int64_t position, bool whole_texts,
          engine::Runner* runner, std::vector<std::vector<float>>* rows) {
  std::vector<kv::PageId> pages(static_cast<size_t>(kContext / kernels::kPageTokens));
  std::iota(pages.begin(), pages.end(), 0);
  const auto count = static_cast<int64_t>(tokens.size());
  const std::vector<model::SequenceRows> sequences = {
      {.row_count = count, .first_position = position, .pages = pages, .state = 0}};
  std::vector<int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int32_t> none;
  runner->Forward({.tokens = tokens,
                   .sequences = sequences,
                   .logit_rows = whole_texts ? none : all,
                   .hidden_rows = whole_texts ? all : none});
  for (int64_t i = 0; i < count; ++i) {
    const std::span<const float> row = whole_texts ? runner->Hidden(i) : runner->Logits(i);
    rows->emplace_back(row.begin(), row.end());
  }
}

}  // namespace

engine::ResolvedOptions OptionsFor(const Model& model, kernels::KvTypes types) {
  const model::Network& network = model.transformer().network();
  const kv::KvLayout layout = model::KvLayoutOf(network, types);
  return {.context = kContext,
          .max_chunk = kContext,
          .max_rows = kContext,
          .max_logit_rows = kContext,
          .max_running = kStates,
          .page_count = kPages,
          .windows = {.pages = layout.window > 0 ? kPages : 0, .positions = layout.window},
          .state_slots = model::StateFloatsOf(network) > 0 ? kStates : 0,
          .whole_texts = model::NeedsWholeTexts(network),
          .threads = 1,
          .kv_types = types};
}

Result<Answers> Answers::Create(const Model& model, kernels::KvTypes types) {
  const model::Network& network = model.transformer().network();
  Answers answers;
  answers.context_ = std::min(kContext, network.context);
  answers.texts_ = DrawTexts(network.vocab, answers.context_);
  answers.rows_.resize(answers.texts_.size());
  answers.whole_texts_ = model::NeedsWholeTexts(network);
  ASSIGN_OR_RETURN(answers.runner_, engine::MakeRunner(model, OptionsFor(model, types)));
  return answers;
}

void Answers::Prepare(size_t text) {
  if (!rows_[text].empty()) return;
  const std::vector<TokenId>& tokens = texts_[text];
  const size_t chunk = whole_texts_ ? tokens.size() : 1;
  for (size_t i = 0; i < tokens.size(); i += chunk) {
    Step(std::span(tokens).subspan(i, chunk), static_cast<int64_t>(i), whole_texts_, runner_.get(),
         &rows_[text]);
  }
}

}  // namespace skald::schedules
