// What the model might have said instead: probabilities MODEL.gguf PROMPT
//
// A line a token, as it comes: its text, its probability, and the three likeliest ones.

#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>

#include "skald/engine.h"
#include "skald/model.h"

namespace {

// The text of one token, with its white space visible.
std::string Shown(const skald::Tokenizer& tokenizer, skald::TokenId token) {
  std::string shown;
  for (const char c : tokenizer.TokenBytes(token)) {
    if (c == '\n') {
      shown += "\\n";
    } else {
      shown += c;
    }
  }
  return "'" + shown + "'";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: probabilities MODEL.gguf PROMPT\n";
    return 2;
  }
  const skald::Result<skald::Model> model = skald::LoadModel({.path = argv[1]});
  if (!model.ok()) {
    std::cerr << model.status().message() << '\n';
    return 1;
  }
  const skald::Tokenizer& tokenizer = model->tokenizer();
  const auto prompt = tokenizer.Encode(argv[2]);
  skald::Result<skald::Engine> engine = skald::Engine::Create(*model, {});
  if (!prompt.ok() || !engine.ok()) {
    std::cerr << (prompt.ok() ? engine.status() : prompt.status()).message() << '\n';
    return 1;
  }
  // Of the model's own distribution: temperature and filters play no role for these figures.
  const skald::Request request{
      .prompt = *prompt, .sampling = {.seed = 7, .top_logprobs = 3}, .stop = {.max_tokens = 20}};
  std::cout << std::fixed << std::setprecision(1);
  const auto print = [&](const skald::TokenEvent& event) {
    if (event.token == skald::kNoToken) return true;  // a part of the prompt is computed
    std::cout << std::left << std::setw(12) << Shown(tokenizer, event.token) << ' ' << std::right
              << std::setw(5) << 100 * std::exp(*event.logprob) << " %  of";
    for (const skald::TokenLogprob& other : event.top)
      std::cout << "  " << Shown(tokenizer, other.token) << ' ' << 100 * std::exp(other.logprob)
                << " %";
    std::cout << '\n';
    return true;
  };
  const skald::Result<skald::Completion> answer = engine->Generate(request, print);
  if (!answer.ok()) {
    std::cerr << answer.status().message() << '\n';
    return 1;
  }
}
