#include "cli/traffic_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/json_writer.h"
#include "cli/format.h"

namespace skald::cli {

namespace {

std::string KindName(const TrafficShape& shape) {
  switch (shape.kind) {
    case TrafficKind::kShared:
      return fmt::format("shared: {} requests of {} + {} tokens, {} out, {} at a time",
                         shape.num_prompts, shape.prefix_len, shape.input_len, shape.output_len,
                         shape.max_concurrency);
    case TrafficKind::kRandom:
      return fmt::format("random: {} requests of about {} tokens, {} out, {} at a time",
                         shape.num_prompts, shape.input_len, shape.output_len,
                         shape.max_concurrency);
    case TrafficKind::kIntruder:
      return fmt::format("intruder: a stream of {} tokens, a prompt of {} arrives",
                         shape.output_len, shape.input_len);
    case TrafficKind::kAgent:
      return fmt::format(
          "agent: {} turns, {} tokens of system prompt and tools, messages of {}, answers of {} "
          "(half is thinking, left out later)",
          shape.num_prompts, shape.prefix_len, shape.input_len, shape.output_len);
    case TrafficKind::kChats:
      return fmt::format("chats {}: {} requests, {} at a time", shape.trace_path, shape.num_prompts,
                         shape.max_concurrency);
    case TrafficKind::kTrace: break;
  }
  return fmt::format("trace {}: first {} requests, lengths / {}, {} at a time", shape.trace_path,
                     shape.num_prompts, shape.trace_scale, shape.max_concurrency);
}

// Sums and samples over the requests.
struct Totals {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
  std::vector<double> ttft;
  std::vector<double> gaps;
  std::vector<double> whole;
};

Totals TotalsOf(const TrafficOutcome& outcome) {
  Totals totals;
  for (const TrafficRecord& record : outcome.records) {
    totals.prompt_tokens += record.prompt_tokens;
    totals.cached_tokens += record.cached_tokens;
    totals.output_tokens += static_cast<int64_t>(record.token_seconds.size());
    if (!record.token_seconds.empty()) totals.ttft.push_back(record.token_seconds.front());
    totals.whole.push_back(record.finished_seconds);
    const std::vector<double> gaps = GapsOf(record);
    totals.gaps.insert(totals.gaps.end(), gaps.begin(), gaps.end());
  }
  return totals;
}

std::vector<std::string> QuantileRow(const std::string& name, const std::vector<double>& samples) {
  std::vector<std::string> row = {name, fmt::format("{}", samples.size())};
  for (const double share : {0.5, 0.9, 0.99, 1.0})
    row.push_back(samples.empty() ? "-" : Duration(Quantile(samples, share)));
  return row;
}

std::string QuantileTable(const TrafficReport& report, const Totals& totals) {
  std::vector<std::vector<std::string>> rows = {{"seconds", "samples", "p50", "p90", "p99", "max"}};
  if (report.shape.kind == TrafficKind::kIntruder) {
    rows.push_back(QuantileRow("TBT, stream alone", report.gaps_alone));
    rows.push_back(QuantileRow("TBT, prompt arriving", report.gaps_during));
    rows.push_back(QuantileRow("TTFT of the prompt", {totals.ttft.back()}));
  } else {
    rows.push_back(QuantileRow("TTFT", totals.ttft));
    rows.push_back(QuantileRow("TBT", totals.gaps));
    rows.push_back(QuantileRow("end to end", totals.whole));
  }
  return MarkdownTable(rows, {1, 2, 3, 4, 5});
}

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string Throughput(const TrafficReport& report, const Totals& totals) {
  const TrafficOutcome& outcome = report.outcome;
  const double seconds = outcome.seconds;
  return fmt::format(
      "\n{} requests in {}, {} refused; {:.1f} output tokens/s, {:.1f} prompt tokens/s\n"
      "prompt tokens: {}, of these {:.1f} % from the cache; ceiling {}: {:.0f} %\n"
      "pages: {}, most held at once {}, cached at the end {}, evicted {}; preemptions {}\n",
      outcome.records.size(), Duration(seconds), outcome.refused,
      Ratio(static_cast<double>(totals.output_tokens), seconds),
      Ratio(static_cast<double>(totals.prompt_tokens), seconds), totals.prompt_tokens,
      100 * Ratio(static_cast<double>(totals.cached_tokens),
                  static_cast<double>(totals.prompt_tokens)),
      Duration(report.bound_seconds), 100 * Ratio(report.bound_seconds, seconds),
      outcome.stats.pages_total, outcome.most_pages_held, outcome.stats.pages_cached,
      outcome.stats.pages_evicted, outcome.stats.preemptions);
}

std::string AgentTable(const TrafficReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"turn", "request", "prompt", "new", "computed", "memory", "snapshot", "disk", "TTFT"}};
  int64_t new_tokens = 0;
  int64_t computed = 0;
  CachedTokens cached;
  for (size_t i = 0; i < report.agent_rows.size(); ++i) {
    const AgentRow& row = report.agent_rows[i];
    const TrafficRecord& record = report.outcome.records[i];
    const int64_t own = record.prompt_tokens - record.cached_tokens;
    new_tokens += row.new_tokens;
    computed += own;
    const CachedTokens& from = record.cached_from;
    cached += from;
    rows.push_back({fmt::format("{}", row.turn), std::string(AgentStepName(row.step)),
                    fmt::format("{}", record.prompt_tokens), fmt::format("{}", row.new_tokens),
                    fmt::format("{}", own), fmt::format("{}", from.memory),
                    fmt::format("{}", from.snapshot), fmt::format("{}", from.disk),
                    record.token_seconds.empty() ? "-" : Duration(record.token_seconds.front())});
  }
  return MarkdownTable(rows, {0, 2, 3, 4, 5, 6, 7, 8}) +
         fmt::format(
             "\nof the prompts {} tokens were new, {} were computed; from memory {}, snapshots {}, "
             "disk {}{}\n\n",
             new_tokens, computed, cached.memory, cached.snapshot, cached.disk,
             report.compared ? "\nevery answer is that of the same request with nothing cached"
                             : "");
}

void WriteAgentRows(const TrafficReport& report, JsonWriter& json) {
  json.Key("turns").BeginArray();
  for (size_t i = 0; i < report.agent_rows.size(); ++i) {
    const AgentRow& row = report.agent_rows[i];
    const TrafficRecord& record = report.outcome.records[i];
    json.BeginObject().Key("turn").Int(row.turn).Key("request").String(AgentStepName(row.step));
    json.Key("prompt_tokens").Int(record.prompt_tokens).Key("new_tokens").Int(row.new_tokens);
    json.Key("cached_tokens").Int(record.cached_tokens);
    const CachedTokens& from = record.cached_from;
    json.Key("cached_tokens_details").BeginObject().Key("memory").Int(from.memory);
    json.Key("snapshot").Int(from.snapshot).Key("disk").Int(from.disk).EndObject();
    json.Key("ttft_seconds");
    record.token_seconds.empty() ? json.Null() : json.Double(record.token_seconds.front());
    json.EndObject();
  }
  json.EndArray();
}

std::string States(const EngineStats& stats) {
  if (stats.states_total == 0) return "";
  return fmt::format("states: {}, snapshots at the end {}, copied {}, evicted {}\n",
                     stats.states_total, stats.states_cached, stats.states_copied,
                     stats.states_evicted);
}

std::string Guesses(const EngineStats& stats) {
  if (stats.draft_tokens == 0) return "";
  return fmt::format(
      "speculation: {} of {} guessed tokens were right ({:.0f} %); {:.2f} tokens a pass\n",
      stats.draft_tokens_accepted, stats.draft_tokens,
      100 * Ratio(static_cast<double>(stats.draft_tokens_accepted),
                  static_cast<double>(stats.draft_tokens)),
      Ratio(static_cast<double>(stats.output_tokens), static_cast<double>(stats.passes)));
}

std::string Slowdown(const TrafficReport& report) {
  if (report.gaps_alone.empty() || report.gaps_during.empty()) return "";
  return fmt::format(
      "\np99 of the time between tokens while the prompt is computed: {:.2f} x its time alone\n",
      Quantile(report.gaps_during, 0.99) / Quantile(report.gaps_alone, 0.99));
}

void WriteQuantiles(std::string_view name, const std::vector<double>& samples, JsonWriter& json) {
  json.Key(name).BeginObject().Key("count").Int(static_cast<int64_t>(samples.size()));
  if (!samples.empty()) {
    json.Key("p50").Double(Quantile(samples, 0.5)).Key("p90").Double(Quantile(samples, 0.9));
    json.Key("p99").Double(Quantile(samples, 0.99)).Key("max").Double(Quantile(samples, 1));
  }
  json.EndObject();
}

}  // namespace

double Quantile(std::vector<double> samples, double share) {
  CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const double rank = std::max(1.0, std::ceil(share * count));
  return samples[static_cast<size_t>(rank) - 1];
}

std::string TrafficText(const TrafficReport& report) {
  const Totals totals = TotalsOf(report.outcome);
  std::string text = BenchHeaderText(report.header);
  text += KindName(report.shape) + "\n\n";
  if (!report.agent_rows.empty()) text += AgentTable(report);
  text += QuantileTable(report, totals);
  text +=
      report.shape.kind == TrafficKind::kIntruder ? Slowdown(report) : Throughput(report, totals);
  return text + States(report.outcome.stats) + Guesses(report.outcome.stats);
}

std::string TrafficJson(const TrafficReport& report) {
  const Totals totals = TotalsOf(report.outcome);
  const TrafficOutcome& outcome = report.outcome;
  JsonWriter json;
  json.BeginObject();
  WriteBenchHeader(report.header, json);
  WriteCeilings(report.header.ceilings, json);
  json.Key("traffic").String(KindName(report.shape)).Key("seconds").Double(outcome.seconds);
  json.Key("requests").Int(static_cast<int64_t>(outcome.records.size()));
  json.Key("refused").Int(outcome.refused).Key("prompt_tokens").Int(totals.prompt_tokens);
  json.Key("cached_tokens").Int(totals.cached_tokens);
  json.Key("output_tokens").Int(totals.output_tokens);
  json.Key("output_tokens_per_second")
      .Double(Ratio(static_cast<double>(totals.output_tokens), outcome.seconds));
  json.Key("ceiling_seconds").Double(report.bound_seconds);
  WriteQuantiles("ttft_seconds", totals.ttft, json);
  WriteQuantiles("tbt_seconds", totals.gaps, json);
  WriteQuantiles("request_seconds", totals.whole, json);
  if (report.shape.kind == TrafficKind::kIntruder) {
    WriteQuantiles("tbt_alone_seconds", report.gaps_alone, json);
    WriteQuantiles("tbt_during_seconds", report.gaps_during, json);
  }
  if (!report.agent_rows.empty()) {
    json.Key("compared").Bool(report.compared);
    WriteAgentRows(report, json);
  }
  json.Key("pages_total").Int(outcome.stats.pages_total);
  json.Key("most_pages_held").Int(outcome.most_pages_held);
  json.Key("pages_cached").Int(outcome.stats.pages_cached);
  json.Key("pages_evicted").Int(outcome.stats.pages_evicted);
  json.Key("states_total").Int(outcome.stats.states_total);
  json.Key("states_cached").Int(outcome.stats.states_cached);
  json.Key("states_copied").Int(outcome.stats.states_copied);
  json.Key("states_evicted").Int(outcome.stats.states_evicted);
  json.Key("preemptions").Int(outcome.stats.preemptions);
  json.Key("passes").Int(outcome.stats.passes);
  json.Key("draft_tokens").Int(outcome.stats.draft_tokens);
  json.Key("draft_tokens_accepted").Int(outcome.stats.draft_tokens_accepted).EndObject();
  return json.Take() + "\n";
}

}  // namespace skald::cli
