#include "cli/plan_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "cli/bench_cases.h"
#include "cli/format.h"
#include "cli/table.h"

namespace skald::cli {
namespace {

Result<RankForecast> ForecastOfRanks(const RanksWanted& wanted, const BenchCase& bench_case,
                                     const std::vector<ModelShape>& parts) {
  RankForecast forecast;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    ASSIGN_OR_RETURN(const Forecast part,
                     ForecastOf(parts[rank], wanted.engine, wanted.machine, bench_case));
    if (rank == 0) forecast.first = part;
    forecast.compute_seconds = std::max(forecast.compute_seconds, part.seconds);
  }
  forecast.exchange_seconds = ExchangeSeconds(forecast.first, wanted.ranks, wanted.link);
  forecast.seconds = forecast.compute_seconds + forecast.exchange_seconds;
  const int64_t tokens = bench_case.batch * (bench_case.prompt_tokens + bench_case.decode_tokens);
  forecast.tokens_per_second = static_cast<double>(tokens) / forecast.seconds;
  return forecast;
}

std::string MemoryText(const RanksReport& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.Add({"memory of each rank", "weights", "kv, states", "in all"});
  for (size_t rank = 0; rank < report.memory.size(); ++rank) {
    const EngineMemory& memory = report.memory[rank];
    table.Add({fmt::format("rank {}", rank), Bytes(memory.weights),
               Bytes(memory.kv + memory.states), Bytes(memory.total())});
  }
  return table.Text();
}

std::string Milliseconds(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }

std::string StepsText(const RanksReport& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.Add({"test on ranks", "gathers", "received", "compute", "exchange", "time", "tokens/s"});
  for (const RankForecast& forecast : report.forecasts) {
    table.Add({CaseName(forecast.first.bench_case), fmt::format("{}", forecast.first.gathers),
               Bytes(static_cast<int64_t>(forecast.first.gathered_bytes)),
               Milliseconds(forecast.compute_seconds), Milliseconds(forecast.exchange_seconds),
               Milliseconds(forecast.seconds), fmt::format("{:.1f}", forecast.tokens_per_second)});
  }
  return table.Text();
}

}  // namespace

Result<RanksReport> PlanRanks(const RanksWanted& wanted, const std::vector<BenchCase>& cases,
                              FindPart find) {
  RanksReport report = {.link = wanted.link};
  std::vector<ModelShape> parts;
  for (int rank = 0; rank < wanted.ranks; ++rank) {
    ASSIGN_OR_RETURN(ModelShape part, find(rank));
    ASSIGN_OR_RETURN(const EnginePlan plan, PlanRank(wanted.whole, part, wanted.engine));
    report.memory.push_back(plan.memory);
    parts.push_back(std::move(part));
  }
  for (const BenchCase& bench_case : cases) {
    ASSIGN_OR_RETURN(RankForecast forecast, ForecastOfRanks(wanted, bench_case, parts));
    report.forecasts.push_back(forecast);
  }
  return report;
}

std::string RanksText(const RanksReport& report) {
  return fmt::format("\n{}\nranks of one such machine each; {}: {:g} us a message, {:g} GB/s\n\n{}",
                     MemoryText(report), report.link.name, 1e6 * report.link.latency_seconds,
                     report.link.bytes_per_second / 1e9, StepsText(report));
}

void WriteRanks(const RanksReport& report, JsonWriter& json) {
  json.Key("ranks").BeginObject();
  json.Key("network").String(report.link.name);
  json.Key("latency_seconds").Double(report.link.latency_seconds);
  json.Key("bytes_per_second").Double(report.link.bytes_per_second);
  json.Key("memory").BeginArray();
  for (const EngineMemory& memory : report.memory) {
    json.BeginObject().Key("weights").Int(memory.weights).Key("kv").Int(memory.kv);
    json.Key("states").Int(memory.states).Key("total").Int(memory.total()).EndObject();
  }
  json.EndArray().Key("forecasts").BeginArray();
  for (const RankForecast& forecast : report.forecasts) {
    json.BeginObject().Key("test").String(CaseName(forecast.first.bench_case));
    json.Key("gathers").Int(forecast.first.gathers);
    json.Key("received_bytes").Double(forecast.first.gathered_bytes);
    json.Key("compute_seconds").Double(forecast.compute_seconds);
    json.Key("exchange_seconds").Double(forecast.exchange_seconds);
    json.Key("seconds").Double(forecast.seconds);
    json.Key("tokens_per_second").Double(forecast.tokens_per_second).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace skald::cli
