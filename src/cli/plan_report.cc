#include "cli/plan_report.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "cli/bench_cases.h"
#include "cli/format.h"
#include "cli/table.h"

namespace skald::cli {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

struct Part {
  std::string_view name;
  int64_t bytes;
};

std::vector<Part> PartsOf(const EngineMemory& memory) {
  return {{"weights", memory.weights},
          {"kv", memory.kv},
          {"states", memory.states},
          {"activations", memory.activations},
          {"ropes", memory.ropes}};
}

// "1.23e+12": of numbers that span many orders of magnitude.
std::string Figure(double value) { return fmt::format("{:.3g}", value); }
// "1979", "0.24": of rates, in the unit of data sheets.
std::string Rate(double value) { return fmt::format("{:.4g}", value); }
std::string Milliseconds(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }

std::string Facts(const ShapeInfo& shape) {
  Table table({Align::kLeft, Align::kLeft});
  table.Add({"model", shape.name});
  table.Add({"from", shape.source});
  table.Add({"architecture", fmt::format("{}, {} layers, width {}", shape.architecture,
                                         shape.layers, shape.width)});
  table.Add({"vocabulary", fmt::format("{} tokens", shape.vocab)});
  table.Add({"context", fmt::format("{} tokens", shape.context)});
  table.Add({"parameters", fmt::format("{} ({})", Count(shape.parameters), shape.parameters)});
  table.Add(
      {"active", fmt::format("{} ({})", Count(shape.active_parameters), shape.active_parameters)});
  return table.Text();
}

std::string Weights(const ShapeInfo& shape) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.Add({"weights", "tensors", "parameters", "in a file"});
  for (const WeightType& weights : shape.weights)
    table.Add({weights.type, fmt::format("{}", weights.tensors), Count(weights.parameters),
               Bytes(weights.file_bytes)});
  return table.Text();
}

std::string Kept(const PlanReport& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.Add({"kept of a token, " + report.kv_type, "layers", "sees", "bytes"});
  for (const KvGroup& group : report.groups)
    table.Add({fmt::format("{}, {} heads of {}", group.kind, group.kv_heads, group.key_dim),
               fmt::format("{}", group.layers),
               group.window > 0 ? fmt::format("{}", group.window) : std::string("all"),
               fmt::format("{}", group.position_bytes)});
  if (report.shape.state_bytes > 0)
    table.Add({"state, of a sequence", fmt::format("{}", report.shape.state_layers), "all",
               fmt::format("{}", report.shape.state_bytes)});
  for (const ContextBytes& context : report.contexts)
    table.Add({fmt::format("context of {}", context.context), "", "", Bytes(context.kv)});
  return table.Text();
}

std::string Memory(const PlanReport& report) {
  Table table({Align::kLeft, Align::kRight});
  table.Add({fmt::format("memory, {} running, context {}", report.engine.max_running,
                         report.engine.context),
             ""});
  for (const Part& part : PartsOf(report.engine.memory))
    if (part.bytes > 0) table.Add({std::string(part.name), Bytes(part.bytes)});
  table.Add({"in all", Bytes(report.engine.memory.total())});
  return table.Text();
}

std::string Fit(const PlanReport& report) {
  Table table({Align::kLeft, Align::kRight});
  table.Add({fmt::format("requests in {}", Bytes(report.machine.memory_bytes)), ""});
  for (const Capacity& capacity : report.capacity)
    table.Add(
        {fmt::format("context of {}", capacity.context), fmt::format("{}", capacity.requests)});
  return table.Text();
}

std::string MachineText(const Machine& machine) {
  const Ceilings& all = machine.ceilings;
  const auto rate = [&](std::string_view name, double macs) {
    return fmt::format("{} {} TFLOP/s, ridge {:.0f}", name, Rate(2 * macs / kTera),
                       Ridge(macs, all));
  };
  std::string text = fmt::format(
      "machine {}: {}\n{} GB/s; {}; {}; {} FLOP/byte\n", machine.name, machine.source,
      Rate(all.read_bytes_per_second / kGiga), rate("int8", all.int8_macs_per_second),
      rate("bf16", all.bfloat16_macs_per_second), rate("fp32", all.float_macs_per_second));
  if (!machine.HasShares()) return text + "times are the least that these figures allow\n";
  return text + fmt::format(
                    "times are those of {:.0f} % of the bandwidth and {:.0f} % of the peaks, as "
                    "measured\n",
                    100 * machine.memory_share, 100 * machine.arithmetic_share);
}

std::string Speeds(const PlanReport& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft,
               Align::kRight, Align::kRight});
  table.Add({"test", "FLOP", "bytes", "FLOP/byte", "bound", "time", "tokens/s"});
  for (const Forecast& forecast : report.forecasts)
    table.Add({CaseName(forecast.bench_case), Figure(forecast.operations),
               Bytes(static_cast<int64_t>(forecast.work.bytes)),
               fmt::format("{:.1f}", forecast.intensity),
               std::string(ResourceName(forecast.bound.resource)), Milliseconds(forecast.seconds),
               fmt::format("{:.1f}", forecast.tokens_per_second)});
  return table.Text();
}

void WriteShape(const PlanReport& report, JsonWriter& json) {
  const ShapeInfo& shape = report.shape;
  json.Key("model").BeginObject();
  json.Key("name").String(shape.name).Key("source").String(shape.source);
  json.Key("architecture").String(shape.architecture).Key("layers").Int(shape.layers);
  json.Key("width").Int(shape.width).Key("vocabulary").Int(shape.vocab);
  json.Key("context").Int(shape.context).Key("parameters").Int(shape.parameters);
  json.Key("active_parameters").Int(shape.active_parameters);
  json.Key("weights").BeginArray();
  for (const WeightType& weights : shape.weights) {
    json.BeginObject().Key("type").String(weights.type).Key("tensors").Int(weights.tensors);
    json.Key("parameters").Int(weights.parameters);
    json.Key("file_bytes").Int(weights.file_bytes).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteKept(const PlanReport& report, JsonWriter& json) {
  json.Key("kv_type").String(report.kv_type).Key("kv_groups").BeginArray();
  for (const KvGroup& group : report.groups) {
    json.BeginObject().Key("kind").String(group.kind).Key("layers").Int(group.layers);
    json.Key("window").Int(group.window).Key("kv_heads").Int(group.kv_heads);
    json.Key("key_dim").Int(group.key_dim).Key("value_dim").Int(group.value_dim);
    json.Key("bytes_per_token").Int(group.position_bytes).EndObject();
  }
  json.EndArray();
  json.Key("kv_bytes_per_token").Int(PositionBytes(report.groups));
  json.Key("state_bytes_per_sequence").Int(report.shape.state_bytes);
  json.Key("contexts").BeginArray();
  for (const ContextBytes& context : report.contexts) {
    json.BeginObject().Key("context").Int(context.context);
    json.Key("kv_bytes").Int(context.kv).EndObject();
  }
  json.EndArray();
}

void WriteEngine(const EnginePlan& plan, JsonWriter& json) {
  json.Key("engine").BeginObject();
  json.Key("context").Int(plan.context).Key("max_running").Int(plan.max_running);
  json.Key("max_chunk").Int(plan.max_chunk).Key("pages").Int(plan.page_count);
  json.Key("window_pages").Int(plan.window_page_count);
  json.Key("page_positions").Int(plan.page_positions).Key("state_slots").Int(plan.state_slots);
  json.Key("memory").BeginObject();
  for (const Part& part : PartsOf(plan.memory)) json.Key(part.name).Int(part.bytes);
  json.Key("total").Int(plan.memory.total()).EndObject().EndObject();
}

void WriteMachine(const PlanReport& report, JsonWriter& json) {
  const Machine& machine = report.machine;
  const Ceilings& all = machine.ceilings;
  json.Key("machine").BeginObject();
  json.Key("name").String(machine.name).Key("source").String(machine.source);
  json.Key("int8_macs_per_second").Double(all.int8_macs_per_second);
  json.Key("bfloat16_macs_per_second").Double(all.bfloat16_macs_per_second);
  json.Key("float_macs_per_second").Double(all.float_macs_per_second);
  json.Key("read_bytes_per_second").Double(all.read_bytes_per_second);
  json.Key("ridge_bfloat16").Double(Ridge(all.bfloat16_macs_per_second, all));
  json.Key("memory_bytes").Int(machine.memory_bytes);
  json.Key("arithmetic_share").Double(machine.arithmetic_share);
  json.Key("memory_share").Double(machine.memory_share);
  json.Key("requests").BeginArray();
  for (const Capacity& capacity : report.capacity) {
    json.BeginObject().Key("context").Int(capacity.context);
    json.Key("requests").Int(capacity.requests).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteForecast(const Forecast& forecast, JsonWriter& json) {
  const BenchCase& wanted = forecast.bench_case;
  json.BeginObject().Key("test").String(CaseName(wanted));
  json.Key("n_prompt").Int(wanted.prompt_tokens).Key("n_gen").Int(wanted.decode_tokens);
  json.Key("n_sequences").Int(wanted.batch).Key("n_depth").Int(wanted.depth);
  json.Key("operations").Double(forecast.operations).Key("bytes").Double(forecast.work.bytes);
  json.Key("intensity").Double(forecast.intensity);
  json.Key("bound").String(ResourceName(forecast.bound.resource));
  json.Key("bound_seconds").Double(forecast.bound.seconds);
  json.Key("seconds").Double(forecast.seconds);
  json.Key("tokens_per_second").Double(forecast.tokens_per_second).EndObject();
}

}  // namespace

int64_t PositionBytes(const std::vector<KvGroup>& groups) {
  int64_t bytes = 0;
  for (const KvGroup& group : groups) bytes += group.position_bytes;
  return bytes;
}

std::string PlanText(const PlanReport& report) {
  const std::string ranks = report.ranks.memory.empty() ? "" : RanksText(report.ranks);
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}{}", Facts(report.shape), Weights(report.shape),
                     Kept(report), Memory(report), Fit(report), MachineText(report.machine),
                     Speeds(report), ranks);
}

std::string PlanJson(const PlanReport& report) {
  JsonWriter json;
  json.BeginObject();
  WriteShape(report, json);
  WriteKept(report, json);
  WriteEngine(report.engine, json);
  WriteMachine(report, json);
  json.Key("forecasts").BeginArray();
  for (const Forecast& forecast : report.forecasts) WriteForecast(forecast, json);
  json.EndArray();
  if (!report.ranks.memory.empty()) WriteRanks(report.ranks, json);
  json.EndObject();
  return json.Take() + '\n';
}

}  // namespace skald::cli
