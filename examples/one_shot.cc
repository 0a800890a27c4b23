// One prompt, one answer: one_shot MODEL.gguf PROMPT

#include <iostream>

#include "skald/engine.h"
#include "skald/model.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: one_shot MODEL.gguf PROMPT\n";
    return 2;
  }
  const skald::Result<skald::Model> model = skald::LoadModel({.path = argv[1]});
  if (!model.ok()) {
    std::cerr << model.status().message() << '\n';
    return 1;
  }
  const auto prompt = model->tokenizer().Encode(argv[2]);
  skald::Result<skald::Engine> engine = skald::Engine::Create(*model, {});
  if (!prompt.ok() || !engine.ok()) {
    std::cerr << (prompt.ok() ? engine.status() : prompt.status()).message() << '\n';
    return 1;
  }
  const skald::Request request{
      .prompt = *prompt, .sampling = {.seed = 7}, .stop = {.max_tokens = 20}};
  const auto go_on = [](const skald::TokenEvent&) { return true; };
  const skald::Result<skald::Completion> answer = engine->Generate(request, go_on);
  if (!answer.ok()) {
    std::cerr << answer.status().message() << '\n';
    return 1;
  }
  std::cout << model->tokenizer().DecodeBytes(answer->tokens) << '\n';
}
