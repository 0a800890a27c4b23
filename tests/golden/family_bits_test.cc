// Every family on every machine: small models with random weights, of the shapes of the large set,
// made here, and the hash of what they give. It was recorded when golden_test held for the large
// set. So this shows that no bit has changed since, and nothing else: not that the bits are right.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/explain.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "support/family_models.h"

namespace skald::golden {
namespace {

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

Result<Explanation> Watch(const Model& model, bool taps) {
  std::vector<TokenId> prompt = TokensOf(model);
  prompt.resize(std::min<size_t>(prompt.size(), 6));
  return ExplainRun(model,
                    {.prompt = prompt,
                     .sampling = {.seed = 3},
                     .max_tokens = 2,
                     .attention = taps,
                     .lens = taps,
                     .experts = taps,
                     .tensors = taps,
                     .engine = {.threads = 1, .kv_types = KvCacheType::kF32}},
                    [] { return true; });
}

// Each layer that goes on has its residual stream, of as many rows as its last block gave.
void ExpectCards(const ExplainedStep& step) {
  for (const Call& layer : step.tree.calls) {
    if (layer.kind != CallKind::kLayer || layer.output.front() == 0) continue;
    ASSERT_TRUE(layer.card.has_value()) << layer.name;
    EXPECT_EQ(layer.card->shape.front(), layer.output.front()) << layer.name;
    EXPECT_EQ(layer.card->not_finite, 0) << layer.name;
  }
}

// Everything that can be looked at is looked at, and nothing changes: the choices, with the
// probabilities of the likeliest tokens, are the same to the bit.
void ExpectSameWhenWatched(const Model& model) {
  const Result<Explanation> plain = Watch(model, false);
  const Result<Explanation> watched = Watch(model, true);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  ASSERT_TRUE(watched.ok()) << watched.status().message();
  ASSERT_EQ(plain->steps.size(), watched->steps.size());
  for (size_t i = 0; i < plain->steps.size(); ++i) {
    const ExplainedStep& step = watched->steps[i];
    ExpectCards(step);
    ASSERT_EQ(plain->steps[i].choice.has_value(), step.choice.has_value());
    if (!step.choice) continue;
    const std::vector<ExplainedChance>& chances = step.choice->chances;
    ASSERT_EQ(plain->steps[i].choice->chances.size(), chances.size());
    for (size_t c = 0; c < chances.size(); ++c) {
      EXPECT_EQ(plain->steps[i].choice->chances[c].token, chances[c].token);
      EXPECT_EQ(plain->steps[i].choice->chances[c].probabilities, chances[c].probabilities);
    }
    // Behind the last layer the lens reads what the choice is made from.
    ASSERT_EQ(std::ssize(step.lens), model.info().layer_count);
    EXPECT_EQ(step.lens.back().best, chances.front().token);
    EXPECT_NEAR(step.lens.back().probability, chances.front().probabilities.front(), 1e-6);
  }
}

class FamilyBits : public testing::TestWithParam<support::FamilyModel> {};

TEST_P(FamilyBits, AreThoseRecorded) {
  const std::string path = support::WriteFamilyModel(GetParam());
  const Result<Model> model = LoadModel({.path = path});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Result<std::vector<float>> rows = Rows(*model);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  // A hash of numbers that say nothing would hold whatever broke.
  double squares = 0;
  for (const float number : *rows) squares += double{number} * number;
  EXPECT_TRUE(std::isfinite(squares));
  EXPECT_GT(std::sqrt(squares / static_cast<double>(rows->size())), 0.01);
  support::Fnv hash;
  hash.Take(*rows);
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash.value()));
  std::printf("%s: bits %s\n", GetParam().name.c_str(), text.data());
  EXPECT_EQ(std::string(text.data()), GetParam().hash);
  ExpectSameWhenWatched(*model);
  ExpectSameOverRanks(path, GetParam().name, *rows);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Compact, FamilyBits, testing::ValuesIn(support::ReadFamilyModels()),
                         [](const auto& model) { return support::TestNameOf(model.param); });

}  // namespace
}  // namespace skald::golden
