#include <algorithm>
#include <string>
#include <utility>

#include "skald/proof.h"

namespace skald {
namespace {

// A page has 32 positions: room for a question beside the copy of a page that it shared.
constexpr int64_t kSpare = 64;
constexpr int64_t kOthers = 8;

int64_t ContextOf(const ProofQuestion& question) {
  return static_cast<int64_t>(question.prompt.size()) + question.max_tokens;
}

// The plainest engine: the whole prompt in one step, nobody beside it.
EngineOptions PlainEngine(const ProofQuestion& question) {
  const int64_t context = ContextOf(question);
  return {.context = context,
          .max_chunk = context,
          .threads = question.threads,
          .isa = question.isa,
          .kv_types = question.kv_types,
          .kv_positions = context + kSpare,
          .max_running = 1};
}

std::vector<ProofCase> OnEachInstructionSet(const ProofQuestion& question) {
  std::vector<ProofCase> cases;
  for (const InstructionSet& isa : InstructionSets()) {
    EngineOptions engine = PlainEngine(question);
    engine.isa = std::string(isa.name);
    engine.threads = 1;
    cases.push_back({.name = engine.isa,
                     .engine = engine,
                     .not_run = isa.supported ? "" : "this CPU lacks it"});
  }
  return cases;
}

ProofCase OnTwoThreads(const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  engine.threads = 2;
  return {.name = "2 threads", .engine = engine};
}

ProofCase InChunks(const ProofQuestion& question, int64_t chunk) {
  EngineOptions engine = PlainEngine(question);
  engine.max_chunk = std::min(chunk, engine.max_chunk);
  return {.name = "prompt in " + std::to_string(chunk) + "s", .engine = engine};
}

ProofCase InACrowd(const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  engine.max_running = kOthers + 1;
  engine.kv_positions *= engine.max_running;
  return {.name = "crowded", .setting = ProofSetting::kCrowded, .engine = engine};
}

ProofCase Preempted(const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  engine.max_running = 2;
  engine.kv_positions = engine.context;  // for one of the two
  return {.name = "preempted", .setting = ProofSetting::kPreempted, .engine = engine};
}

ProofCase Cached(const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  engine.kv_positions *= 2;
  return {.name = "warm cache", .setting = ProofSetting::kCached, .engine = engine};
}

ProofCase Speculative(const Model& model, const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  engine.speculation = {
      .kind = Speculation::kChain, .draft = model, .max_draft = 8, .min_draft = 4};
  return {.name = "speculation",
          .setting = ProofSetting::kSpeculative,
          .engine = engine,
          .not_run = model.info().state_bytes > 0 ? "recurrent layers get no guesses" : ""};
}

ProofCase Restarted(const ProofQuestion& question) {
  return {
      .name = "restarted", .setting = ProofSetting::kRestarted, .engine = PlainEngine(question)};
}

}  // namespace

std::vector<ProofCase> ProofCases(const Model& model, const ProofQuestion& question) {
  std::vector<ProofCase> cases = OnEachInstructionSet(question);
  cases.push_back(OnTwoThreads(question));
  for (const int64_t chunk : {1, 7, 64}) cases.push_back(InChunks(question, chunk));
  cases.push_back(InACrowd(question));
  cases.push_back(Preempted(question));
  cases.push_back(Cached(question));
  cases.push_back(Speculative(model, question));
  cases.push_back(Restarted(question));
  return cases;
}

ProofCase PlantedFault(const ProofQuestion& question) {
  EngineOptions engine = PlainEngine(question);
  const bool is_f32 = question.kv_types == KvCacheTypes(KvCacheType::kF32);
  engine.kv_types = is_f32 ? KvCacheType::kBF16 : KvCacheType::kF32;
  return {.name = "planted fault", .engine = engine};
}

}  // namespace skald
