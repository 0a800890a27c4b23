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

void WriteFloats(std::string_view key, const std::vector<float>& values, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const float value : values) json.Double(value);
  json.EndArray();
}

void WriteCard(const TensorCard& card, JsonWriter& json) {
  json.BeginObject();
  WriteShape("shape", card.shape, json);
  json.Key("count").Int(card.count).Key("not_finite").Int(card.not_finite);
  json.Key("min").Double(card.min).Key("mean").Double(card.mean).Key("max").Double(card.max);
  WriteFloats("first", card.first, json);
  WriteFloats("last", card.last, json);
  json.Key("bins").BeginArray();
  for (const int64_t count : card.bins) json.Int(count);
  json.EndArray().EndObject();
}

// A list of things that are only there where somebody has asked for them.
template <typename Thing>
void WriteAll(std::string_view key, const std::vector<Thing>& things,
              void (*write)(const Thing&, JsonWriter&), JsonWriter& json) {
  if (things.empty()) return;
  json.Key(key).BeginArray();
  for (const Thing& thing : things) write(thing, json);
  json.EndArray();
}

void WriteTensor(const ExplainedTensor& tensor, JsonWriter& json) {
  json.BeginObject().Key("name").String(tensor.name).Key("card");
  WriteCard(tensor.card, json);
  json.EndObject();
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
  if (call.card) {
    json.Key("card");
    WriteCard(*call.card, json);
  }
  WriteAll("tensors", call.tensors, WriteTensor, json);
  WriteAll("calls", call.calls, WriteCall, json);
  json.EndObject();
}

void WriteToken(const ExplainedToken& token, JsonWriter& json) {
  json.BeginObject().Key("id").Int(token.id).Key("text").String(token.text);
  json.Key("origin").String(TokenOriginName(token.origin));
  if (token.probability) json.Key("probability").Double(*token.probability);
  json.EndObject();
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
  json.Key("source").String(PageSourceName(page.source));
  if (page.window_left) json.Key("window_left").Int(*page.window_left);
  json.EndObject();
}

void WriteAttention(const ExplainedAttention& attention, JsonWriter& json) {
  json.BeginObject().Key("layer").Int(attention.layer);
  if (attention.beside) json.Key("beside").Bool(true);
  json.Key("head").Int(attention.head).Key("position").Int(attention.position);
  json.Key("first_key").Int(attention.first_key);
  WriteFloats("weights", attention.weights, json);
  if (attention.sink) json.Key("sink").Double(*attention.sink);
  json.EndObject();
}

void WriteHead(const ExplainedHead& head, JsonWriter& json) {
  json.BeginObject().Key("layer").Int(head.layer);
  if (head.beside) json.Key("beside").Bool(true);
  json.Key("head").Int(head.head).Key("entropy_bits").Double(head.entropy_bits);
  json.Key("distance").Double(head.distance).EndObject();
}

void WriteExperts(const ExplainedExperts& experts, JsonWriter& json) {
  json.BeginObject().Key("layer").Int(experts.layer).Key("position").Int(experts.position);
  json.Key("count").Int(experts.count).Key("experts").BeginArray();
  for (const int32_t expert : experts.experts) json.Int(expert);
  json.EndArray();
  WriteFloats("weights", experts.weights, json);
  json.EndObject();
}

void WriteLens(const ExplainedLens& lens, JsonWriter& json) {
  json.BeginObject().Key("layer").Int(lens.layer).Key("best").Int(lens.best);
  json.Key("text").String(lens.text).Key("probability").Double(lens.probability);
  json.Key("drawn_probability").Double(lens.drawn_probability).EndObject();
}

void WriteMemory(const ExplainedMemory& memory, JsonWriter& json) {
  json.Key("memory").BeginObject().Key("full_layers").Int(memory.full_layers);
  json.Key("window_layers").Int(memory.window_layers).Key("window").Int(memory.window);
  json.Key("state_layers").Int(memory.state_layers).Key("state_bytes").Int(memory.state_bytes);
  json.Key("position_bytes").Int(memory.position_bytes).Key("snapshots").BeginArray();
  for (const int64_t position : memory.snapshots) json.Int(position);
  json.EndArray().EndObject();
}

void WriteStep(const ExplainedStep& step, JsonWriter& json) {
  json.BeginObject().Key("kind").String(step.is_prefill ? "prefill" : "decode");
  json.Key("first_position").Int(step.first_position).Key("rows").Int(step.rows);
  json.Key("logit_rows").Int(step.logit_rows);
  if (step.drawn != kNoToken) json.Key("drawn").Int(step.drawn);
  if (step.choice) WriteChoice(*step.choice, json);
  WriteAll("lens", step.lens, WriteLens, json);
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
  WriteMemory(explanation.memory, json);
  WriteAll("attention", explanation.attention, WriteAttention, json);
  WriteAll("heads", explanation.heads, WriteHead, json);
  WriteAll("experts", explanation.experts, WriteExperts, json);
  WriteAll("weights", explanation.weights, WriteTensor, json);
  json.EndObject();
  return json.Take() + '\n';
}

}  // namespace skald
