// Every fault is seen in its figure, and the same figure without the fault is clean.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "skald/lab.h"

namespace skald {
namespace {

Model Load(const std::string& path) {
  Result<Model> model = LoadModel({.path = path});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

Model Tales() { return Load(std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"); }
Model Golden(const std::string& name) { return Load(SKALD_GOLDEN_MODELS "/" + name + ".gguf"); }

bool GoOn() { return true; }

LabQuestion TalesQuestion(const Model& model) {
  return {.prompt = *model.tokenizer().Encode("Once upon a time there was a small fox who lived at "
                                              "the edge of a wood. One evening"),
          .max_tokens = 24,
          .threads = 1};
}

// Tokens of a model with random weights mean nothing.
LabQuestion GoldenQuestion() {
  LabQuestion question = {.prompt = {}, .max_tokens = 16, .threads = 1};
  for (TokenId i = 0; i < 24; ++i) question.prompt.push_back(3 + i * i * 7 % 90);
  return question;
}

double MostOf(const FigureSeries& series) {
  double most = 0;
  for (const FigurePoint& point : series.points) most = std::max(most, point.y);
  return most;
}

// The largest KL in front of a position.
double MostBefore(const FigureSeries& series, int64_t position) {
  double most = 0;
  for (const FigurePoint& point : series.points) {
    if (point.x < static_cast<double>(position)) most = std::max(most, point.y);
  }
  return most;
}

struct Case {
  std::string name;
  std::string model;  // "tales", or a golden one
};

class Fault : public testing::TestWithParam<Case> {};

TEST_P(Fault, IsSeenAndTheSameWithoutItIsClean) {
  const bool is_tales = GetParam().model == "tales";
  const Model model = is_tales ? Tales() : Golden(GetParam().model);
  const LabQuestion question = is_tales ? TalesQuestion(model) : GoldenQuestion();
  const Result<LabResult> result = RunLab(model, GetParam().name, question, GoOn);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_GE(result->panels.size(), 2u);
  const FigurePanel& loss = result->panels[0];
  const FigurePanel& divergence = result->panels[1];
  const size_t rows = question.prompt.size() + static_cast<size_t>(question.max_tokens) - 1;
  for (const FigurePanel* panel : {&loss, &divergence}) {
    for (const FigureSeries& series : panel->series) EXPECT_EQ(series.points.size(), rows);
  }
  // Without the fault: the bits of the text computed at once.
  EXPECT_TRUE(result->is_clean) << result->clean;
  EXPECT_EQ(MostOf(divergence.series[1]), 0);
  // With it: nothing before it, something behind.
  ASSERT_TRUE(result->position.has_value());
  EXPECT_EQ(MostBefore(divergence.series[0], *result->position), 0);
  EXPECT_GT(MostOf(divergence.series[0]), 1e-3) << result->finding;
  EXPECT_TRUE(std::any_of(loss.series[0].points.begin(), loss.series[0].points.end(),
                          [&](const FigurePoint& point) {
                            return point.y != loss.series[1].points[static_cast<size_t>(point.x)].y;
                          }));
  EXPECT_EQ(result->text.size(), rows + 1);
  EXPECT_EQ(result->broken_text.size(), rows + 1);
  EXPECT_GT(result->parts_at.value_or(std::ssize(result->text)), *result->position);
}
INSTANTIATE_TEST_SUITE_P(
    Models, Fault,
    testing::Values(Case{"key", "tales"}, Case{"write-index", "tales"},
                    Case{"forget-cache", "tales"}, Case{"rope-position", "tales"},
                    Case{"future", "tales"}, Case{"shared-cache", "tales"},
                    Case{"contiguous", "tales"},
                    // Layers with states beside attention, and tails of convolutions.
                    Case{"stale-state", "qwen35"}, Case{"stale-state", "lfm2"},
                    Case{"key", "qwen35"}, Case{"forget-cache", "qwen35"}, Case{"future", "qwen35"},
                    Case{"shared-cache", "qwen35"}),
    [](const auto& test) {
      std::string name = test.param.name + "_" + test.param.model;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// A forgotten cache is a great fault, one wrong key of many a small one (docs/worked-examples.md).
TEST(Faults, AreOfTheSizeThatTheySeem) {
  const Model model = Tales();
  const auto loss_of = [&](std::string_view name) {
    const Result<LabResult> result = RunLab(model, name, TalesQuestion(model), GoOn);
    double sum = 0;
    for (const FigurePoint& point : result->panels[0].series[0].points) sum += point.y;
    return sum;
  };
  const double key = loss_of("key");
  EXPECT_LT(key, loss_of("rope-position"));
  EXPECT_LT(key, loss_of("forget-cache") / 2);
}

TEST(Faults, StandWhereTheyAreAskedFor) {
  const Model model = Tales();
  LabQuestion question = TalesQuestion(model);
  question.position = 5;
  for (const char* name : {"write-index", "forget-cache", "rope-position"}) {
    const Result<LabResult> result = RunLab(model, name, question, GoOn);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->is_clean);
    const FigureSeries& divergence = result->panels[1].series[0];
    EXPECT_EQ(MostBefore(divergence, 5), 0) << name;
    EXPECT_GT(MostBefore(divergence, 8), 0) << name;
  }
  // A key is read by the rows behind it: the first of them in the answer.
  const Result<LabResult> key = RunLab(model, "key", question, GoOn);
  EXPECT_EQ(key->position, std::ssize(question.prompt));
  question.position = std::ssize(question.prompt) + 3;
  EXPECT_EQ(RunLab(model, "key", question, GoOn)->position, *question.position + 1);
}

TEST(Faults, AreTheSameHoweverTheyAreComputed) {
  const Model model = Tales();
  LabQuestion question = TalesQuestion(model);
  question.isa = "scalar";
  const std::string scalar = LabJson(*RunLab(model, "key", question, GoOn));
  question.isa = "best";
  question.threads = 2;
  EXPECT_EQ(LabJson(*RunLab(model, "key", question, GoOn)), scalar);
}

TEST(Faults, OfEveryTypeOfKAndV) {
  const Model model = Tales();
  for (const KvCacheType type :
       {KvCacheType::kBF16, KvCacheType::kF32, KvCacheType::kQ8, KvCacheType::kQ4}) {
    LabQuestion question = TalesQuestion(model);
    question.kv_types = type;
    const Result<LabResult> result = RunLab(model, "key", question, GoOn);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->is_clean) << result->clean;
    EXPECT_GT(MostOf(result->panels[1].series[0]), 1e-3);
  }
}

void ExpectError(const Model& model, std::string_view name, const LabQuestion& question,
                 ErrorCode code, std::string_view words) {
  const Result<LabResult> result = RunLab(model, name, question, GoOn);
  ASSERT_FALSE(result.ok()) << name;
  EXPECT_EQ(result.status().code(), code);
  EXPECT_NE(result.status().message().find(words), std::string::npos) << result.status().message();
}

TEST(Faults, SayWhyAModelCannotHaveThem) {
  const Model tales = Tales();
  ExpectError(tales, "stale-state", TalesQuestion(tales), ErrorCode::kUnsupported,
              "it has no recurrent layers, so it carries no state");
  ExpectError(Golden("deepseek2"), "future", GoldenQuestion(), ErrorCode::kUnsupported,
              "it has no attention whose mask could be taken away");
  ExpectError(Golden("bert"), "key", GoldenQuestion(), ErrorCode::kUnsupported,
              "the model embeds or ranks texts and continues none");
}

TEST(Faults, RefuseWhatCannotBe) {
  const Model model = Tales();
  const LabQuestion good = TalesQuestion(model);
  const auto refused = [&](std::string_view name, const LabQuestion& question,
                           std::string_view words) {
    ExpectError(model, name, question, ErrorCode::kInvalidArgument, words);
  };
  refused("nope", good, "there is no experiment 'nope', expected one of: key, write-index,");
  LabQuestion question = good;
  question.prompt.resize(1);
  refused("key", question, "the prompt has 1 tokens, expected 2 at least");
  question = good;
  question.prompt[1] = static_cast<TokenId>(model.info().vocab_size);
  refused("key", question, "is not in the vocabulary");
  question = good;
  question.max_tokens = 512;
  refused("key", question, "and at most 511 together");
  for (const int64_t position : {int64_t{0}, std::ssize(good.prompt) + 23}) {
    question = good;
    question.position = position;
    refused("write-index", question, "the position is " + std::to_string(position));
  }
  question = good;
  question.position = 4;
  refused("future", question, "this fault has no position");
  const Result<LabResult> stopped = RunLab(model, "key", good, [] { return false; });
  EXPECT_EQ(stopped.status().code(), ErrorCode::kCancelled);
}

TEST(Lab, ADrawingHasBothTexts) {
  const Model model = Tales();
  const Result<LabResult> result = RunLab(model, "forget-cache", TalesQuestion(model), GoOn);
  const std::string svg = LabSvg(*result, "skald lab forget-cache");
  for (const char* part : {"As it should be", "With the fault", "rect class=\"red\"",
                           "class=\"place\"", "KL (nats)", "skald lab forget-cache</text>"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
}

TEST(Lab, EveryExperimentHasItsTwoSentences) {
  for (const LabExperiment& experiment : LabExperiments()) {
    EXPECT_EQ(FindLabExperiment(experiment.name)->title, experiment.title);
    EXPECT_TRUE(experiment.see.ends_with('.') && experiment.bug.ends_with('.')) << experiment.name;
  }
}

}  // namespace
}  // namespace skald
