// Many prompts at once: many_requests MODEL.gguf < PROMPTS, a prompt a line.
//
// The engine computes them in common steps, so that all together take little longer than the
// longest. Each answer is, to the last bit, what it would be alone.

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/text_sink.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: many_requests MODEL.gguf < PROMPTS\n";
    return 2;
  }
  const skald::Result<skald::Model> model = skald::LoadModel({.path = argv[1]});
  if (!model.ok()) {
    std::cerr << model.status().message() << '\n';
    return 1;
  }
  // Room for 16 sequences at a time; further ones wait in the engine.
  skald::Result<skald::Engine> engine =
      skald::Engine::Create(*model, {.kv_positions = 16 * 512, .max_running = 16});
  if (!engine.ok()) {
    std::cerr << engine.status().message() << '\n';
    return 1;
  }
  std::vector<std::shared_ptr<skald::TextSink>> answers;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto prompt = model->tokenizer().Encode(line);
    if (!prompt.ok()) {
      std::cerr << prompt.status().message() << '\n';
      return 1;
    }
    skald::Request request{.prompt = *prompt, .sampling = {.seed = 7}, .stop = {.max_tokens = 20}};
    auto sink = skald::TextSink::Create(model->tokenizer(), request, {});
    const auto id = sink.ok() ? engine->Submit(std::move(request), *sink) : sink.status();
    if (!id.ok()) {
      std::cerr << id.status().message() << '\n';
      return 1;
    }
    answers.push_back(*sink);
  }
  // All are computed meanwhile; a queue that nobody has read yet holds 256 events.
  for (size_t i = 0; i < answers.size(); ++i) {
    std::cout << i + 1 << ":";
    for (skald::TextEvent next = answers[i]->Next(); !next.event.Is<skald::FinishedEvent>();
         next = answers[i]->Next())
      std::cout << next.text;
    std::cout << std::endl;
  }
}
