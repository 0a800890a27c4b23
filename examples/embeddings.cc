// Which texts are alike: embeddings MODEL.gguf < TEXTS, a text a line.
//
// Prints the likeness (cosine) of each text to the first.

#include <iomanip>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embeddings MODEL.gguf < TEXTS\n";
    return 2;
  }
  const skald::Result<skald::Model> model = skald::LoadModel({.path = argv[1]});
  if (!model.ok()) {
    std::cerr << model.status().message() << '\n';
    return 1;
  }
  skald::Result<skald::Engine> engine = skald::Engine::Create(*model, {});
  if (!engine.ok()) {
    std::cerr << engine.status().message() << '\n';
    return 1;
  }
  std::vector<float> first;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto prompt = model->tokenizer().Encode(line);
    if (!prompt.ok()) {
      std::cerr << prompt.status().message() << '\n';
      return 1;
    }
    const skald::Result<skald::Embedding> text =
        engine->Embed({.prompt = *prompt, .pooling = skald::Pooling::kMean});
    if (!text.ok()) {
      std::cerr << text.status().message() << '\n';
      return 1;
    }
    if (first.empty()) first = text->values;
    // The vectors have length 1, so their product is the cosine.
    const float likeness =
        std::inner_product(first.begin(), first.end(), text->values.begin(), 0.0F);
    std::cout << std::fixed << std::setprecision(3) << likeness << "  " << line << '\n';
  }
}
