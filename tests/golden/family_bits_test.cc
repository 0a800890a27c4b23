// Every family on every machine: small models with random weights, of the shapes of the large set,
// made here, and the hash of what they give. It was recorded when golden_test held for the large
// set. So this shows that no bit has changed since, and nothing else: not that the bits are right.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "formats/gguf_builder.h"
#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"

namespace skald::golden {
namespace {

// FNV-1a (Fowler, Noll, Vo), 64 bits.
class Hash {
 public:
  void Take(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
  }
  void Take(std::span<const float> numbers) {
    Take({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

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
  Hash seed;
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

struct Described {
  std::string name;
  std::string hash;
  std::vector<std::string> lines = {};
};

std::vector<Described> ReadDescribed() {
  std::ifstream file(SKALD_SOURCE_DIR "/tests/data/families.txt");
  std::vector<Described> models;
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

std::vector<std::byte> FileOf(const Described& model) {
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

// ---- what it gives ----

// More tokens than the windows of these models see; where a context ends before, to its end.
std::vector<TokenId> TokensOf(const Model& model) {
  const int64_t spread = std::min<int64_t>(200, model.tokenizer().vocab_size() - 3);
  const int64_t count = std::min<int64_t>(40, model.info().context_length);
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(3 + i * 7 % spread));
  return tokens;
}

Result<std::vector<float>> Rows(const Model& model) {
  std::vector<float> rows;
  if (!model.info().generates) {
    Result<Engine> engine = Engine::Create(model, {.kv_types = KvCacheType::kF32});
    if (!engine.ok()) return std::move(engine).status();
    Result<Embedding> embedding =
        engine->Embed({.prompt = TokensOf(model), .pooling = *model.info().pooling});
    if (!embedding.ok()) return std::move(embedding).status();
    return embedding->values;
  }
  Result<LogitsSession> session =
      LogitsSession::Create(model, {.max_chunk = 64, .kv_types = KvCacheType::kF32});
  if (!session.ok()) return std::move(session).status();
  const Status status = session->Compute(TokensOf(model), {}, [&](std::span<const float> row) {
    rows.insert(rows.end(), row.begin(), row.end());
    return Ok();
  });
  return status.ok() ? Result<std::vector<float>>(std::move(rows)) : status;
}

// The most ranks that share a model, and what more of them would have too little of.
struct Most {
  int ranks;
  std::string things;
};

// Of the models that few can share; nothing for others.
std::optional<Most> MostRanks(const std::string& name) {
  const std::string two = "2 heads, 2 of a KV head";
  const std::string three = "3 heads, 3 of a KV head";
  const std::string normed = "2 KV heads that are normed together";
  const std::map<std::string, Most> known = {
      {"exaone4-swa", {2, two}},
      {"falcon-h1", {3, "3 heads of the state space, 3 of a group"}},
      {"gemma-embedding", {3, three}},
      {"gemma3n", {2, two}},
      {"minimax-m2", {2, normed}},
      {"olmo2", {2, normed}},
      {"olmo3", {2, normed}},
      {"phi3-long", {3, three}},
      {"phi3-short", {3, three}}};
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

Result<Model> LoadForRanks(const std::string& path, int ranks) {
  return LoadModel({.path = path, .threads = 1, .ranks = ranks});
}

// Promise 1 over ranks, and who is refused. Three divide few numbers of heads and of rows, so their
// parts differ in size; each further number of ranks would cost a run of all families again.
void ExpectSameOverRanks(const std::string& path, const std::string& name,
                         const std::vector<float>& expected) {
  const std::optional<Most> most = MostRanks(name);
  const int ranks = most ? most->ranks : 3;
  const Result<Model> model = LoadForRanks(path, ranks);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Result<std::vector<float>> rows = Rows(*model);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_TRUE(*rows == expected) << ranks << " ranks";
  if (!most) return;
  const Result<Model> refused = LoadForRanks(path, ranks + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), path + ": layer 0: " + std::to_string(ranks + 1) +
                                            " ranks share " + most->things +
                                            ": expected fewer ranks");
}

// "qwen35-mtp" as a part of a test's name: qwen35_mtp.
std::string TestName(const testing::TestParamInfo<Described>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class FamilyBits : public testing::TestWithParam<Described> {};

TEST_P(FamilyBits, AreThoseRecorded) {
  const std::vector<std::byte> bytes = FileOf(GetParam());
  const std::string path = testing::TempDir() + "skald_family_" + GetParam().name + ".gguf";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const Result<Model> model = LoadModel({.path = path});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Result<std::vector<float>> rows = Rows(*model);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  // A hash of numbers that say nothing would hold whatever broke.
  double squares = 0;
  for (const float number : *rows) squares += double{number} * number;
  EXPECT_TRUE(std::isfinite(squares));
  EXPECT_GT(std::sqrt(squares / static_cast<double>(rows->size())), 0.01);
  Hash hash;
  hash.Take(*rows);
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash.value()));
  std::printf("%s: bits %s\n", GetParam().name.c_str(), text.data());
  EXPECT_EQ(std::string(text.data()), GetParam().hash);
  ExpectSameOverRanks(path, GetParam().name, *rows);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Compact, FamilyBits, testing::ValuesIn(ReadDescribed()), TestName);

}  // namespace
}  // namespace skald::golden
