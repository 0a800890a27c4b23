#include "support/family_models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "base/rng.h"
#include "formats/gguf_builder.h"

namespace skald::support {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

template <typename T>
T NumberOf(const std::string& text) {
  T number = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << text;
  return number;
}

// ---- weights ----

// Uniform in [-1, 1), by the name of the tensor, so that its place in the file does not matter.
std::vector<float> Uniform(const std::string& name, size_t count) {
  Fnv seed;
  seed.Take(std::string_view(name));
  std::vector<float> numbers;
  for (uint32_t pair = 0; numbers.size() < count; ++pair) {
    for (const double number : UniformPair({.seed = seed.value()}, pair)) {
      if (numbers.size() < count) numbers.push_back(static_cast<float>(2 * number - 1));
    }
  }
  return numbers;
}

// What a kind of tensor is like in a trained model: its mean, and how far it spreads.
struct Spread {
  float mean;
  float width;
};

Spread SpreadOf(const std::string& name, uint64_t columns) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (name.ends_with(".ssm_a")) return {-0.75f, 0.25f};  // decays
  if (name.starts_with("rope_f")) return {1.5f, 0.5f};   // angles are divided by these
  if (name.ends_with(".bias") || has("attn_sinks")) return {0, 0.1f};
  const bool is_matrix = has("norm") == false && !name.ends_with("scale") && !has("_scale.") &&
                         !name.ends_with("ssm_d");
  if (!is_matrix) return {1, 0.2f};
  // A product with a vector of length 1 has variance 1; scores of experts lie further apart, so
  // that their order is clear.
  const float unit = std::sqrt(3.0f / static_cast<float>(columns));
  return {0, has("ffn_gate_inp") ? 3 * unit : unit};
}

std::vector<std::byte> Weights(const std::string& name, const std::vector<uint64_t>& dims) {
  const uint64_t count = std::accumulate(dims.begin(), dims.end(), uint64_t{1}, std::multiplies());
  const Spread spread = SpreadOf(name, dims.front());
  std::vector<float> numbers = Uniform(name, count);
  for (float& number : numbers) number = spread.mean + spread.width * number;
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

// ---- the file ----

void AddKey(const std::string& family, const std::vector<std::string>& words,
            formats::GgufBuilder* file) {
  std::string name = words.at(2);
  if (name.starts_with("~")) name = family + name.substr(1);
  const std::vector<std::string> values = Split(words.size() > 3 ? words[3] : "", ',');
  const auto all = [&]<typename T>(T) {
    std::vector<T> numbers;
    for (const std::string& value : values) numbers.push_back(NumberOf<T>(value));
    return numbers;
  };
  switch (words.at(1).front()) {
    case 'u': file->Key(name, NumberOf<uint32_t>(values.at(0))); break;
    case 'f': file->Key(name, NumberOf<float>(values.at(0))); break;
    case 'b': file->Key(name, values.at(0) == "1"); break;
    case 's': file->Key(name, words.at(3)); break;
    case 'U':
    case 'B': file->Key(name, all(uint32_t{})); break;
    case 'F': file->Key(name, all(float{})); break;
    default: ADD_FAILURE() << words[1];
  }
}

void AddTensors(const std::vector<std::string>& words, formats::GgufBuilder* file) {
  std::vector<uint64_t> dims;
  for (const std::string& dim : Split(words.at(1), 'x')) dims.push_back(NumberOf<uint64_t>(dim));
  const size_t star = words.at(2).find('*');
  for (const std::string& layer :
       words.size() > 3 ? Split(words[3], ',') : std::vector{std::string()}) {
    std::string name = words[2];
    if (star != std::string::npos) name.replace(star, 1, layer);
    file->Tensor({.name = name, .dims = dims, .data = Weights(name, dims)});
  }
}

// Names that no text spells: these models read tokens only.
void AddVocabulary(size_t size, formats::GgufBuilder* file) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  while (tokens.size() < size) tokens.push_back("t" + std::to_string(tokens.size()));
  file->Key("tokenizer.ggml.model", "llama")
      .Key("tokenizer.ggml.tokens", tokens)
      .Key("tokenizer.ggml.scores", std::vector<float>(size))
      .Key("tokenizer.ggml.token_type", std::vector<uint32_t>(size, 1));
}

std::vector<std::byte> BytesOf(const FamilyModel& model) {
  formats::GgufBuilder file;
  std::string family;
  for (const std::string& line : model.lines) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.at(0) == "vocabulary") {
      AddVocabulary(NumberOf<size_t>(words.at(1)), &file);
    } else if (words[0] == "tensor") {
      AddTensors(words, &file);
    } else {
      if (words.at(2) == "general.architecture") family = words.at(3);
      AddKey(family, words, &file);
    }
  }
  return file.Build();
}

}  // namespace

void Fnv::Take(std::string_view bytes) {
  for (const char byte : bytes) {
    value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
}

void Fnv::Take(std::span<const float> numbers) {
  Take({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

std::vector<FamilyModel> ReadFamilyModels() {
  std::ifstream file(SKALD_SOURCE_DIR "/tests/data/families.txt");
  std::vector<FamilyModel> models;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model ")) {
      const std::vector<std::string> words = Split(line, ' ');
      models.push_back({.name = words.at(1), .hash = words.at(2)});
    } else if (!line.starts_with("#")) {
      models.back().lines.push_back(line);
    }
  }
  return models;
}

std::string TestNameOf(const FamilyModel& model) {
  std::string name = model.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string WriteFamilyModel(const FamilyModel& model) {
  const std::vector<std::byte> bytes = BytesOf(model);
  // Test programs run beside each other, and more than one of them makes these models.
  const std::string path =
      testing::TempDir() + "skald_family_" + model.name + "_" + std::to_string(getpid()) + ".gguf";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace skald::support
