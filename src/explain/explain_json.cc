#include "base/json_writer.h"
#include "skald/explain.h"

namespace skald {
namespace {

constexpr std::string_view KindName(CallKind kind) {
  switch (kind) {
    case CallKind::kStep: return "step";
    case CallKind::kLayer: return "layer";
    case CallKind::kBlock: return "block";
    case CallKind::kOperation: return "operation";
    case CallKind::kMatrix: return "matrix";
  }
  return "";
}

void WriteShape(std::string_view key, const std::vector<int64_t>& shape, JsonWriter& json) {
  if (shape.empty()) return;
  json.Key(key).BeginArray();
  for (const int64_t extent : shape) json.Int(extent);
  json.EndArray();
}

void WriteCall(const Call& call, JsonWriter& json) {
  json.BeginObject().Key("kind").String(KindName(call.kind)).Key("name").String(call.name);
  if (call.layer >= 0) json.Key("layer").Int(call.layer);
  WriteShape("input", call.input, json);
  WriteShape("operand", call.operand, json);
  WriteShape("output", call.output, json);
  json.Key("bytes").Double(call.work.bytes).Key("operations").Double(2 * call.macs());
  json.Key("int8_macs").Double(call.work.int8_macs);
  json.Key("bfloat16_macs").Double(call.work.bfloat16_macs);
  json.Key("float_macs").Double(call.work.float_macs);
  if (call.seconds) json.Key("seconds").Double(*call.seconds);
  if (call.bound) {
    json.Key("bound").String(ResourceName(call.bound->resource));
    json.Key("bound_seconds").Double(call.bound->seconds);
  }
  if (const auto share = call.share()) json.Key("share").Double(*share);
  if (!call.calls.empty()) {
    json.Key("calls").BeginArray();
    for (const Call& inner : call.calls) WriteCall(inner, json);
    json.EndArray();
  }
  json.EndObject();
}

void WriteToken(const ExplainedToken& token, JsonWriter& json) {
  json.BeginObject().Key("id").Int(token.id).Key("text").String(token.text);
  json.Key("origin").String(TokenOriginName(token.origin)).EndObject();
}

void WriteChance(const ExplainedChance& chance, JsonWriter& json) {
  json.BeginObject().Key("token").Int(chance.token).Key("text").String(chance.text);
  json.Key("probabilities").BeginArray();
  for (const double p : chance.probabilities) json.Double(p);
  json.EndArray();
  if (chance.race) json.Key("race").Double(*chance.race);
  json.EndObject();
}

void WriteChoice(const ExplainedChoice& choice, JsonWriter& json) {
  json.Key("choice").BeginObject().Key("filters").BeginArray();
  for (const ExplainedFilter& filter : choice.filters) {
    json.BeginObject().Key("name").String(filter.name).Key("left").Int(filter.left).EndObject();
  }
  json.EndArray().Key("chances").BeginArray();
  for (const ExplainedChance& chance : choice.chances) WriteChance(chance, json);
  json.EndArray().EndObject();
}

void WritePage(const ExplainedPage& page, JsonWriter& json) {
  json.BeginObject().Key("id").Int(page.id).Key("first_position").Int(page.first_position);
  json.Key("source").String(PageSourceName(page.source)).EndObject();
}

void WriteAttention(const ExplainedAttention& attention, JsonWriter& json) {
  json.BeginObject().Key("layer").Int(attention.layer);
  if (attention.beside) json.Key("beside").Bool(true);
  json.Key("head").Int(attention.head).Key("position").Int(attention.position);
  json.Key("first_key").Int(attention.first_key).Key("weights").BeginArray();
  for (const float weight : attention.weights) json.Double(weight);
  json.EndArray().EndObject();
}

void WriteStep(const ExplainedStep& step, JsonWriter& json) {
  json.BeginObject().Key("kind").String(step.is_prefill ? "prefill" : "decode");
  json.Key("first_position").Int(step.first_position).Key("rows").Int(step.rows);
  json.Key("logit_rows").Int(step.logit_rows);
  if (step.drawn != kNoToken) json.Key("drawn").Int(step.drawn);
  if (step.choice) WriteChoice(*step.choice, json);
  json.Key("tree");
  WriteCall(step.tree, json);
  json.EndObject();
}

void WriteCeilings(const Ceilings& ceilings, JsonWriter& json) {
  json.Key("ceilings").BeginObject();
  json.Key("int8_macs_per_second").Double(ceilings.int8_macs_per_second);
  json.Key("bfloat16_macs_per_second").Double(ceilings.bfloat16_macs_per_second);
  json.Key("float_macs_per_second").Double(ceilings.float_macs_per_second);
  json.Key("read_bytes_per_second").Double(ceilings.read_bytes_per_second);
  json.EndObject();
}

}  // namespace

std::string ExplainJson(const Explanation& explanation) {
  JsonWriter json;
  json.BeginObject();
  json.Key("model").BeginObject();
  json.Key("name").String(explanation.model.name);
  json.Key("architecture").String(explanation.model.architecture);
  json.Key("weights").String(explanation.model.weights_type);
  json.Key("parameters").Int(explanation.model.parameter_count).EndObject();
  json.Key("isa").String(explanation.isa).Key("threads").Int(explanation.threads);
  json.Key("context").Int(explanation.context);
  json.Key("numerics_version").Int(kNumericsVersion);
  json.Key("seed").Uint(explanation.sampling.seed);
  json.Key("temperature").Double(explanation.sampling.temperature);
  if (explanation.ceilings) WriteCeilings(*explanation.ceilings, json);
  json.Key("prompt_tokens").Int(explanation.prompt_tokens);
  json.Key("cached_tokens").Int(explanation.cached_tokens);
  json.Key("tokens").BeginArray();
  for (const ExplainedToken& token : explanation.tokens) WriteToken(token, json);
  json.EndArray().Key("steps").BeginArray();
  for (const ExplainedStep& step : explanation.steps) WriteStep(step, json);
  json.EndArray().Key("pages").BeginArray();
  for (const ExplainedPage& page : explanation.pages) WritePage(page, json);
  json.EndArray();
  if (!explanation.attention.empty()) {
    json.Key("attention").BeginArray();
    for (const auto& attention : explanation.attention) WriteAttention(attention, json);
    json.EndArray();
  }
  json.EndObject();
  return json.Take() + '\n';
}

}  // namespace skald
