#include <algorithm>
#include <limits>

#include "base/check.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/route/route.h"

namespace skald::kernels {
namespace {

// Largest score and sum of a softmax over all experts.
struct Softmax {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
};

Softmax SoftmaxOf(const RouteArgs& args) {
  Softmax result;
  for (int64_t i = 0; i < args.experts; ++i) {
    if (args.scores[i] > result.largest) result.largest = args.scores[i];
  }
  float partial[16] = {};
  for (int64_t i = 0; i < args.experts; ++i) {
    partial[i % 16] += ExpRef(args.scores[i] - result.largest);
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) partial[j] += partial[j + half];
  }
  result.sum = partial[0];
  return result;
}

// The probability of an expert. Under kSoftmaxOfChosen there is none before the choice: its score.
float Probability(const RouteArgs& args, const Softmax& softmax, int64_t expert) {
  const float score = args.scores[expert];
  switch (args.rule.weights) {
    case RouteWeights::kSoftmax: return ExpRef(score - softmax.largest) / softmax.sum;
    case RouteWeights::kSigmoid: return Sigmoid(score);
    case RouteWeights::kSoftmaxOfChosen: return score;
  }
  UNREACHABLE();
}

bool AddsBestTwo(const RouteArgs& args) {
  return args.bias != nullptr ||
         (args.rule.groups > 1 && args.rule.group_score == GroupScore::kBestTwo);
}

// What experts are chosen by. Without sums the scores themselves: they tell experts apart whose
// probabilities are the same float.
const float* ChoiceScores(const RouteArgs& args, const Softmax& softmax) {
  if (!AddsBestTwo(args)) return args.scores;
  for (int64_t i = 0; i < args.experts; ++i) {
    args.choice[i] = Probability(args, softmax, i);
    if (args.bias != nullptr) args.choice[i] += args.bias[i];
  }
  return args.choice;
}

// The score of a group: its best, or the two best together.
float GroupScore(const float* choice, int64_t size, const RouteArgs& args) {
  float best = choice[0];
  float second = -std::numeric_limits<float>::infinity();
  for (int64_t i = 1; i < size; ++i) {
    if (choice[i] > best) {
      second = best;
      best = choice[i];
    } else if (choice[i] > second) {
      second = choice[i];
    }
  }
  return AddsBestTwo(args) && size > 1 ? best + second : best;
}

// Which groups a token may choose from.
struct OpenGroups {
  bool open[kMaxRouteGroups];
};

// A group is open if fewer than used_groups go before it.
OpenGroups ChooseGroups(const RouteArgs& args, const float* choice) {
  const int64_t count = args.rule.groups;
  const int64_t size = args.experts / count;
  float scores[kMaxRouteGroups];
  for (int64_t i = 0; i < count; ++i) scores[i] = GroupScore(choice + i * size, size, args);
  OpenGroups groups = {};
  for (int64_t i = 0; i < count; ++i) {
    int64_t before = 0;
    for (int64_t j = 0; j < count; ++j) {
      before += scores[j] > scores[i] || (scores[j] == scores[i] && j < i);
    }
    groups.open[i] = before < args.rule.used_groups;
  }
  return groups;
}

// The experts with the largest choice scores, the best first, of equal ones the lower index: it
// comes first here and only a larger score goes before it.
void Choose(const RouteArgs& args, const float* choice) {
  const OpenGroups groups = ChooseGroups(args, choice);
  const int64_t size = args.experts / args.rule.groups;
  int64_t count = 0;
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    if (!groups.open[expert / size]) continue;
    const float score = choice[expert];
    int64_t place = count;
    while (place > 0 && score > choice[args.chosen[place - 1]]) --place;
    if (place == args.used) continue;
    if (count < args.used) ++count;
    std::copy_backward(args.chosen + place, args.chosen + count - 1, args.chosen + count);
    args.chosen[place] = static_cast<int32_t>(expert);
  }
}

void DivideBySum(const RouteArgs& args) {
  float sum = 0;
  for (int64_t i = 0; i < args.used; ++i) sum += args.weights[i];
  // The smallest normal half: where others stop, so that nothing is divided by 0. A NaN passes
  // through std::max as its first argument.
  const float divisor = std::max(sum, 0x1p-14f);
  for (int64_t i = 0; i < args.used; ++i) args.weights[i] /= divisor;
}

void SoftmaxOfChosen(const RouteArgs& args) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < args.used; ++i) {
    largest = std::max(largest, args.scores[args.chosen[i]]);
  }
  float sum = 0;
  for (int64_t i = 0; i < args.used; ++i) {
    args.weights[i] = ExpRef(args.scores[args.chosen[i]] - largest);
    sum += args.weights[i];
  }
  for (int64_t i = 0; i < args.used; ++i) args.weights[i] /= sum;
}

}  // namespace

float Sigmoid(float x) { return 1.0f / (1.0f + ExpRef(-x)); }

void Route(const RouteArgs& args) {
  const RouteWeights kind = args.rule.weights;
  const Softmax softmax = kind == RouteWeights::kSoftmax ? SoftmaxOf(args) : Softmax{};
  Choose(args, ChoiceScores(args, softmax));
  std::sort(args.chosen, args.chosen + args.used);
  if (kind == RouteWeights::kSoftmaxOfChosen) {
    SoftmaxOfChosen(args);
  } else {
    for (int64_t i = 0; i < args.used; ++i) {
      args.weights[i] = Probability(args, softmax, args.chosen[i]);
    }
    if (args.rule.sum == RouteSum::kOne) DivideBySum(args);
  }
  for (int64_t i = 0; i < args.used; ++i) args.weights[i] *= args.rule.scale;
}

}  // namespace skald::kernels
