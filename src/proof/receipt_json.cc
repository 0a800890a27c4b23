#include <cmath>
#include <string>

#include "base/json_writer.h"
#include "proof/receipt_names.h"
#include "skald/receipt.h"

namespace skald {
namespace {

using proof::NameOf;

void WriteNumber(std::string_view key, const std::optional<double>& number, JsonWriter& json) {
  if (number.has_value()) json.Key(key).Double(*number);
}

// Only what was set: a file's own ropes are part of its hash.
void WriteRope(const RopeOverride& rope, JsonWriter& json) {
  json.Key("rope").BeginObject();
  if (rope.stretch) json.Key("stretch").String(NameOf(proof::kStretchNames, *rope.stretch));
  WriteNumber("factor", rope.factor, json);
  WriteNumber("base", rope.base, json);
  if (rope.trained_context) json.Key("trained_context").Int(*rope.trained_context);
  WriteNumber("extrapolation", rope.extrapolation, json);
  WriteNumber("magnitude", rope.magnitude, json);
  WriteNumber("beta_fast", rope.beta_fast, json);
  WriteNumber("beta_slow", rope.beta_slow, json);
  json.EndObject();
}

void WriteEndless(const Endless& endless, JsonWriter& json) {
  if (!endless.exists()) return;
  json.Key("endless").BeginObject();
  json.Key("sinks").Int(endless.sinks).Key("window").Int(endless.window).EndObject();
}

void WriteModel(const Receipt& receipt, JsonWriter& json) {
  json.Key("model").BeginObject();
  json.Key("name").String(receipt.model_name).Key("sha256").String(receipt.model_sha256);
  json.Key("conventions").String(NameOf(proof::kConventionsNames, receipt.conventions));
  WriteRope(receipt.rope, json);
  WriteEndless(receipt.endless, json);
  json.Key("k_type").String(NameOf(proof::kKvTypeNames, receipt.kv_types.keys));
  json.Key("v_type").String(NameOf(proof::kKvTypeNames, receipt.kv_types.values));
  json.Key("template_sha256").String(receipt.template_sha256);
  json.EndObject();
}

void WriteIds(std::span<const TokenId> tokens, JsonWriter& json) {
  json.BeginArray();
  for (const TokenId token : tokens) json.Int(token);
  json.EndArray();
}

void WriteDry(const Dry& dry, JsonWriter& json) {
  json.Key("dry").BeginObject();
  json.Key("multiplier").Double(dry.multiplier).Key("base").Double(dry.base);
  json.Key("allowed_length").Int(dry.allowed_length).Key("last_n").Int(dry.last_n);
  json.Key("breakers");
  WriteIds(dry.breakers, json);
  json.EndObject();
}

// A bias of -infinity has no number in JSON: null.
void WriteSampling(const SamplingParams& params, JsonWriter& json) {
  json.Key("sampling").BeginObject();
  json.Key("seed").String(std::to_string(params.seed));
  json.Key("temperature").Double(params.temperature);
  json.Key("top_k").Int(params.truncation.top_k).Key("top_p").Double(params.truncation.top_p);
  json.Key("min_p").Double(params.truncation.min_p);
  json.Key("typical_p").Double(params.truncation.typical_p);
  json.Key("top_n_sigma").Double(params.truncation.top_n_sigma);
  json.Key("xtc_probability").Double(params.truncation.xtc_probability);
  json.Key("xtc_threshold").Double(params.truncation.xtc_threshold);
  json.Key("dynamic_temperature").Double(params.dynamic_temperature.range);
  json.Key("dynamic_exponent").Double(params.dynamic_temperature.exponent);
  json.Key("mirostat").Int(params.mirostat.version);
  json.Key("mirostat_tau").Double(params.mirostat.tau);
  json.Key("mirostat_eta").Double(params.mirostat.eta);
  json.Key("repetition").Double(params.penalties.repetition);
  json.Key("presence").Double(params.penalties.presence);
  json.Key("frequency").Double(params.penalties.frequency);
  json.Key("last_n").Int(params.penalties.last_n);
  WriteDry(params.dry, json);
  json.Key("order").String(NameOf(proof::kOrderNames, params.order));
  json.Key("logit_bias").BeginArray();
  for (const LogitBias& each : params.logit_bias) {
    json.BeginArray().Int(each.token);
    std::isfinite(each.bias) ? json.Float(each.bias) : json.Null();
    json.EndArray();
  }
  json.EndArray().EndObject();
}

void WriteStop(const StopRules& stop, JsonWriter& json) {
  json.Key("stop").BeginObject();
  json.Key("ignore_eos").Bool(stop.ignore_eos).Key("min_tokens").Int(stop.min_tokens);
  json.Key("stop_tokens");
  WriteIds(stop.stop_tokens, json);
  json.EndObject();
}

void WriteTokens(std::string_view key, const ReceiptTokens& tokens, JsonWriter& json) {
  json.Key(key).BeginObject().Key("count").Int(tokens.count);
  json.Key("tokens");
  WriteIds(tokens.tokens, json);
  json.Key("sha256").String(tokens.sha256).EndObject();
}

}  // namespace

std::string ReceiptJson(const Receipt& receipt) {
  JsonWriter json;
  json.BeginObject().Key("skald_receipt").Int(kReceiptForm);
  json.Key("version").String(receipt.version).Key("numerics").Int(receipt.numerics);
  WriteModel(receipt, json);
  WriteSampling(receipt.sampling, json);
  WriteStop(receipt.stop, json);
  json.Key("sequence").Int(receipt.sequence);
  WriteTokens("prompt", receipt.prompt, json);
  WriteTokens("output", receipt.output, json);
  json.Key("links").String(receipt.links).Key("chain").String(receipt.chain);
  json.Key("seal").String(receipt.seal).EndObject();
  return json.Take();
}

}  // namespace skald
