// skald_schedules: random schedules of forward passes, by seed, on a small model of every family.
//
//     skald_schedules --seeds 0..100000               of each family, up to its first difference
//     skald_schedules --only qwen35 --seeds 0..1000   of one
//     skald_schedules --ranks 2 --seeds 0..1000       on networks split into two ranks
//     skald_schedules --seeds 0..1000 MODEL.gguf...   of files
//
// What a seed draws: instruction set, threads, types of K and V (conditions of the runner), and the
// schedule (schedules/schedule.h). Exit code: 0 no difference, 1 one, 2 wrong usage.

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "engine/runner.h"
#include "kernels/isa/isa.h"
#include "model/transformer.h"
#include "schedules/answers.h"
#include "schedules/schedule.h"
#include "skald/model.h"
#include "support/family_models.h"

namespace skald::schedules {
namespace {

using kernels::KvType;
using kernels::KvTypes;

// Seeds first <= seed < last.
struct Arguments {
  uint64_t first = 0;
  uint64_t last = 100;
  int ranks = 1;
  std::string only = {};
  std::vector<std::string> files = {};
};

template <typename T>
bool ReadNumber(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ReadSeeds(std::string_view text, Arguments* arguments) {
  const size_t dots = text.find("..");
  return dots != std::string_view::npos && ReadNumber(text.substr(0, dots), &arguments->first) &&
         ReadNumber(text.substr(dots + 2), &arguments->last);
}

bool Parse(int count, char** values, Arguments* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = values[i];
    if (!flag.starts_with("--")) {
      arguments->files.emplace_back(flag);
      continue;
    }
    if (++i == count) return false;
    if (flag == "--seeds" && ReadSeeds(values[i], arguments)) continue;
    if (flag == "--ranks" && ReadNumber(values[i], &arguments->ranks)) continue;
    if (flag != "--only") return false;
    arguments->only = values[i];
  }
  return arguments->ranks > 0;
}

// As --kv-type has them.
struct NamedTypes {
  std::string_view name;
  KvTypes types;
};
constexpr std::array kKvTypes = {NamedTypes{"f16", {KvType::kF16, KvType::kF16}},
                                 NamedTypes{"f32", {KvType::kF32, KvType::kF32}},
                                 NamedTypes{"q8", {KvType::kQ8, KvType::kQ8}},
                                 NamedTypes{"f16,q4", {KvType::kF16, KvType::kQ4}}};

// One model under all conditions, each with its runner; whole, and as it runs, perhaps in ranks.
class Subject {
 public:
  Subject(Model whole, Model split) : whole_(std::move(whole)), split_(std::move(split)) {
    for (const kernels::Isa isa : kernels::AllIsas()) {
      if (isa.supported()) isas_.push_back(isa);
    }
    for (int count = 1; count <= 3; ++count) pools_.push_back(std::make_shared<ThreadPool>(count));
    const model::Network& network = whole_.transformer().network();
    for (const NamedTypes& types : kKvTypes) {
      if (engine::CheckKvTypes(network, types.types).ok()) types_.push_back(types);
    }
  }

  // "": the same bits.
  Result<std::string> Run(uint64_t seed) {
    sim::Seeded random(~seed);
    const Conditions conditions = Draw(&random);
    const auto [isa, pool, type] = conditions;
    ASSIGN_OR_RETURN(Answers * answers, AnswersFor(type));
    ASSIGN_OR_RETURN(engine::Runner * runner, RunnerFor(conditions));
    const kv::KvLayout layout =
        model::KvLayoutOf(whole_.transformer().network(), types_[type].types);
    Schedule schedule(seed, answers, layout, runner);
    std::string wrong = schedule.Run();
    deeds_.Add(schedule.deeds());
    if (wrong.empty()) return wrong;
    std::string text(isas_[isa].name);
    text += ", " + std::to_string(pool + 1) + " threads, KV ";
    text += types_[type].name;
    return text + ": " + wrong;
  }

  const Deeds& deeds() const { return deeds_; }

 private:
  using Conditions = std::tuple<size_t, size_t, size_t>;  // isa, threads, types

  // Scalar kernels take twenty times as long as others, and threads wait most of the time where a
  // network is as small as these: fewer of both, for more schedules.
  Conditions Draw(sim::Seeded* random) const {
    const auto draw = [&](size_t first, size_t count) {
      return static_cast<size_t>(
          random->Between(static_cast<int64_t>(first), static_cast<int64_t>(count) - 1));
    };
    const bool scalar = isas_.size() == 1 || random->OneIn(200);
    return {scalar ? 0 : draw(1, isas_.size()), random->OneIn(64) ? draw(1, pools_.size()) : 0,
            draw(0, types_.size())};
  }

  Result<Answers*> AnswersFor(size_t type) {
    const auto found = answers_.find(type);
    if (found != answers_.end()) return &found->second;
    ASSIGN_OR_RETURN(Answers answers, Answers::Create(whole_, types_[type].types));
    return &answers_.emplace(type, std::move(answers)).first->second;
  }

  Result<engine::Runner*> RunnerFor(const Conditions& conditions) {
    std::unique_ptr<engine::Runner>& runner = runners_[conditions];
    if (runner != nullptr) return runner.get();
    const auto [isa, pool, type] = conditions;
    engine::ResolvedOptions options = OptionsFor(whole_, types_[type].types);
    options.isa = isas_[isa];
    options.threads = pools_[pool]->thread_count();
    ASSIGN_OR_RETURN(runner, engine::MakeRunner(split_, options, pools_[pool]));
    PoisonAll(runner.get());
    return runner.get();
  }

  const Model whole_;
  const Model split_;
  std::vector<kernels::Isa> isas_;
  std::vector<std::shared_ptr<ThreadPool>> pools_;
  std::vector<NamedTypes> types_;
  std::map<size_t, Answers> answers_;
  std::map<Conditions, std::unique_ptr<engine::Runner>> runners_;
  Deeds deeds_;
};

void PrintDeeds(const std::string& name, const Arguments& arguments, const Deeds& deeds,
                double seconds) {
  std::printf(
      "%s: %llu schedules in %.1f s: %lld steps of %lld rows, %lld compared; %lld forks, %lld "
      "moves, %lld preemptions, %lld wrong guesses, %lld window pages dropped\n",
      name.c_str(), static_cast<unsigned long long>(arguments.last - arguments.first), seconds,
      static_cast<long long>(deeds.steps), static_cast<long long>(deeds.rows),
      static_cast<long long>(deeds.compared), static_cast<long long>(deeds.forks),
      static_cast<long long>(deeds.moves), static_cast<long long>(deeds.preemptions),
      static_cast<long long>(deeds.guesses), static_cast<long long>(deeds.windows_dropped));
  std::fflush(stdout);
}

// kNumeric: a difference.
Status RunModel(const std::string& name, const std::string& path, const Arguments& arguments) {
  ASSIGN_OR_RETURN(Model whole, LoadModel({.path = path}));
  ASSIGN_OR_RETURN(Model split, LoadModel({.path = path, .ranks = arguments.ranks}));
  const Stopwatch watch;
  Subject subject(std::move(whole), std::move(split));
  for (uint64_t seed = arguments.first; seed < arguments.last; ++seed) {
    ASSIGN_OR_RETURN(const std::string wrong, subject.Run(seed));
    if (!wrong.empty()) {
      return Status(ErrorCode::kNumeric, name + ", seed " + std::to_string(seed) + ", " + wrong);
    }
  }
  PrintDeeds(name, arguments, subject.deeds(), watch.Seconds());
  return Ok();
}

int RunAll(const Arguments& arguments) {
  int wrong = 0;
  const auto run = [&](const std::string& name, const std::string& path) {
    const Status status = RunModel(name, path, arguments);
    if (status.ok()) return;
    ++wrong;
    std::fprintf(stderr, "%s\n", status.message().c_str());
  };
  for (const std::string& file : arguments.files) run(file, file);
  for (const support::FamilyModel& family : support::ReadFamilyModels()) {
    if (!arguments.files.empty()) break;
    if (!arguments.only.empty() && family.name != arguments.only) continue;
    const std::string path = support::WriteFamilyModel(family);
    run(family.name, path);
    std::filesystem::remove(path);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace skald::schedules

int main(int count, char** values) {
  skald::schedules::Arguments arguments;
  if (!skald::schedules::Parse(count, values, &arguments)) {
    std::fprintf(stderr,
                 "usage: skald_schedules [--seeds A..B] [--ranks N] [--only FAMILY | FILE...]\n");
    return 2;
  }
  return skald::schedules::RunAll(arguments);
}
