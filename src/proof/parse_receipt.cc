#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "base/json_tree.h"
#include "base/status_macros.h"
#include "proof/receipt_names.h"
#include "proof/row_chain.h"
#include "skald/receipt.h"

namespace skald {
namespace {

constexpr size_t kDigestDigits = 64;

Status Invalid(std::string message) {
  return Status(ErrorCode::kInvalidArgument, "receipt: " + std::move(message));
}

// The members of an object, each taken once by its name. What is left at the end is unknown, or
// there twice. The first error stays.
class Members {
 public:
  Members(std::string path, std::optional<JsonValue> object) : path_(std::move(path)) {
    if (object.has_value() && object->IsObject()) {
      object_ = object;
    } else {
      Fail(path_ + " is missing or no object");
    }
  }

  std::optional<JsonValue> Take(std::string_view name) {
    if (!object_.has_value()) return std::nullopt;
    const std::optional<JsonValue> member = object_->Find(name);
    if (member.has_value()) ++taken_;
    return member;
  }

  void String(std::string_view name, std::string* out) {
    const std::optional<JsonValue> member = Take(name);
    const auto text = member ? member->AsString() : std::nullopt;
    if (!text) return Expected(name, "a text");
    out->assign(*text);
  }

  // Lower-case digits, so many; none at all where that is allowed.
  void Digits(std::string_view name, size_t count, std::string* out) {
    String(name, out);
    const bool are_digits = std::all_of(out->begin(), out->end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
    if (out->size() == count && are_digits) return;
    Expected(name, std::to_string(count) + " digits of 0 to 9 and a to f");
  }

  template <typename T>
  void Int(std::string_view name, T* out, int64_t low,
           int64_t high = std::numeric_limits<T>::max()) {
    const std::optional<JsonValue> member = Take(name);
    const auto number = member ? member->AsInt() : std::nullopt;
    if (number && *number >= low && *number <= high) {
      *out = static_cast<T>(*number);
      return;
    }
    Expected(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }

  void Bool(std::string_view name, bool* out) {
    const std::optional<JsonValue> member = Take(name);
    const auto value = member ? member->AsBool() : std::nullopt;
    if (!value) return Expected(name, "true or false");
    *out = *value;
  }

  void Double(std::string_view name, double* out) {
    const std::optional<JsonValue> member = Take(name);
    if (!member || !ReadNumber(*member, out)) Expected(name, "a number");
  }

  template <typename T, size_t kCount>
  void Choice(std::string_view name, const std::array<proof::Name<T>, kCount>& names, T* out) {
    std::string word;
    String(name, &word);
    const std::optional<T> value = proof::ValueOf(names, word);
    if (!value) return Expected(name, "one of the words for it");
    *out = *value;
  }

  // By its digits: a reader's own number could be a neighbour.
  template <typename T>
  static bool ReadNumber(const JsonValue& value, T* out) {
    const std::string text = value.NumberText();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    *out += T(0);  // -0 is written as 0
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
  }

  void Expected(std::string_view name, const std::string& what) {
    Fail("'" + path_ + std::string(name) + "' is missing or not " + what);
  }

  /// Errors: the first of all.
  Status End() {
    if (status_.ok() && object_->size() != taken_) {
      Fail("'" + path_ + "' has members that a receipt has not, or one twice");
    }
    return std::move(status_);
  }

 private:
  void Fail(std::string message) {
    if (status_.ok()) status_ = Invalid(std::move(message));
  }

  std::string path_;
  std::optional<JsonValue> object_;
  size_t taken_ = 0;
  Status status_;
};

std::optional<double> OptionalNumber(std::string_view name, Members* members) {
  const std::optional<JsonValue> member = members->Take(name);
  if (!member) return std::nullopt;
  double number = 0;
  if (!Members::ReadNumber(*member, &number)) members->Expected(name, "a number");
  return number;
}

Status ReadRope(std::optional<JsonValue> object, RopeOverride* rope) {
  Members members("model.rope.", object);
  if (object && object->Find("stretch")) {
    members.Choice("stretch", proof::kStretchNames, &rope->stretch.emplace());
  }
  rope->factor = OptionalNumber("factor", &members);
  rope->base = OptionalNumber("base", &members);
  if (object && object->Find("trained_context")) {
    members.Int("trained_context", &rope->trained_context.emplace(), 1);
  }
  rope->extrapolation = OptionalNumber("extrapolation", &members);
  rope->magnitude = OptionalNumber("magnitude", &members);
  rope->beta_fast = OptionalNumber("beta_fast", &members);
  rope->beta_slow = OptionalNumber("beta_slow", &members);
  return members.End();
}

Status ReadEndless(std::optional<JsonValue> object, Endless* endless) {
  Members members("model.endless.", object);
  members.Int("sinks", &endless->sinks, 0);
  members.Int("window", &endless->window, 1);
  return members.End();
}

Status ReadModel(std::optional<JsonValue> object, Receipt* receipt) {
  Members members("model.", object);
  members.String("name", &receipt->model_name);
  members.Digits("sha256", kDigestDigits, &receipt->model_sha256);
  members.Choice("conventions", proof::kConventionsNames, &receipt->conventions);
  const std::optional<JsonValue> rope = members.Take("rope");
  const bool is_endless = object && object->Find("endless");
  const std::optional<JsonValue> endless = is_endless ? members.Take("endless") : std::nullopt;
  members.Choice("k_type", proof::kKvTypeNames, &receipt->kv_types.keys);
  members.Choice("v_type", proof::kKvTypeNames, &receipt->kv_types.values);
  members.String("template_sha256", &receipt->template_sha256);
  RETURN_IF_ERROR(members.End());
  if (is_endless) RETURN_IF_ERROR(ReadEndless(endless, &receipt->endless));
  return ReadRope(rope, &receipt->rope);
}

// [token, bias], null for -infinity.
Result<LogitBias> ReadBias(const JsonValue& pair) {
  LogitBias bias = {.bias = -std::numeric_limits<float>::infinity()};
  size_t index = 0;
  bool is_good = pair.IsArray() && pair.size() == 2;
  for (const JsonValue part : pair) {
    if (!is_good) break;
    if (index++ == 0) {
      is_good = Members::ReadNumber(part, &bias.token);
    } else if (part.kind() != JsonKind::kNull) {
      is_good = Members::ReadNumber(part, &bias.bias);
    }
  }
  if (is_good) return bias;
  return Invalid("'sampling.logit_bias' is not pairs of a token and a number or null");
}

// Each is looked through for each token: together with the context, the bound of that work.
Status CheckLength(const std::string& path, const JsonValue& list) {
  if (list.size() <= kMaxReceiptList) return Ok();
  return Invalid("'" + path + "' has " + std::to_string(list.size()) +
                 " members, expected at most " + std::to_string(kMaxReceiptList));
}

Status ReadBiases(const std::optional<JsonValue>& list, std::vector<LogitBias>* biases) {
  if (!list || !list->IsArray()) return Invalid("'sampling.logit_bias' is missing or no list");
  RETURN_IF_ERROR(CheckLength("sampling.logit_bias", *list));
  for (const JsonValue pair : *list) {
    ASSIGN_OR_RETURN(const LogitBias bias, ReadBias(pair));
    biases->push_back(bias);
  }
  return Ok();
}

Status ReadIds(const std::string& path, const std::optional<JsonValue>& list,
               std::vector<TokenId>* tokens) {
  if (!list || !list->IsArray()) return Invalid("'" + path + "' is missing or no list");
  for (const JsonValue each : *list) {
    const std::optional<int64_t> id = each.AsInt();
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
      return Invalid("'" + path + "' has something that is no token id");
    }
    tokens->push_back(static_cast<TokenId>(*id));
  }
  return Ok();
}

Status ReadFewIds(const std::string& path, const std::optional<JsonValue>& list,
                  std::vector<TokenId>* tokens) {
  if (list && list->IsArray()) RETURN_IF_ERROR(CheckLength(path, *list));
  return ReadIds(path, list, tokens);
}

Status ReadDry(std::optional<JsonValue> object, Dry* dry) {
  Members members("sampling.dry.", object);
  members.Double("multiplier", &dry->multiplier);
  members.Double("base", &dry->base);
  members.Int("allowed_length", &dry->allowed_length, 1);
  members.Int("last_n", &dry->last_n, -1);
  const std::optional<JsonValue> breakers = members.Take("breakers");
  RETURN_IF_ERROR(members.End());
  return ReadFewIds("sampling.dry.breakers", breakers, &dry->breakers);
}

Status ReadSampling(std::optional<JsonValue> object, SamplingParams* params) {
  Members members("sampling.", object);
  std::string seed;
  members.String("seed", &seed);
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), params->seed);
  if (seed.empty() || error != std::errc() || end != seed.data() + seed.size()) {
    members.Expected("seed", "a text of the digits of a number below 2^64");
  }
  members.Double("temperature", &params->temperature);
  members.Int("top_k", &params->truncation.top_k, 0);
  members.Double("top_p", &params->truncation.top_p);
  members.Double("min_p", &params->truncation.min_p);
  members.Double("typical_p", &params->truncation.typical_p);
  members.Double("top_n_sigma", &params->truncation.top_n_sigma);
  members.Double("xtc_probability", &params->truncation.xtc_probability);
  members.Double("xtc_threshold", &params->truncation.xtc_threshold);
  members.Double("dynamic_temperature", &params->dynamic_temperature.range);
  members.Double("dynamic_exponent", &params->dynamic_temperature.exponent);
  members.Int("mirostat", &params->mirostat.version, 0);
  members.Double("mirostat_tau", &params->mirostat.tau);
  members.Double("mirostat_eta", &params->mirostat.eta);
  members.Double("repetition", &params->penalties.repetition);
  members.Double("presence", &params->penalties.presence);
  members.Double("frequency", &params->penalties.frequency);
  members.Int("last_n", &params->penalties.last_n, -1);
  members.Choice("order", proof::kOrderNames, &params->order);
  const std::optional<JsonValue> dry = members.Take("dry");
  const std::optional<JsonValue> biases = members.Take("logit_bias");
  RETURN_IF_ERROR(members.End());
  RETURN_IF_ERROR(ReadDry(dry, &params->dry));
  return ReadBiases(biases, &params->logit_bias);
}

Status ReadStop(std::optional<JsonValue> object, StopRules* stop) {
  Members members("stop.", object);
  members.Bool("ignore_eos", &stop->ignore_eos);
  members.Int("min_tokens", &stop->min_tokens, 0);
  const std::optional<JsonValue> tokens = members.Take("stop_tokens");
  RETURN_IF_ERROR(members.End());
  return ReadFewIds("stop.stop_tokens", tokens, &stop->stop_tokens);
}

Status ReadTokens(const std::string& name, std::optional<JsonValue> object, ReceiptTokens* tokens) {
  Members members(name + ".", object);
  members.Int("count", &tokens->count, 1, std::numeric_limits<int32_t>::max());
  const std::optional<JsonValue> ids = members.Take("tokens");
  members.Digits("sha256", kDigestDigits, &tokens->sha256);
  RETURN_IF_ERROR(members.End());
  RETURN_IF_ERROR(ReadIds(name + ".tokens", ids, &tokens->tokens));
  if (tokens->tokens.empty() || std::ssize(tokens->tokens) == tokens->count) return Ok();
  return Invalid("'" + name + ".tokens' has " + std::to_string(tokens->tokens.size()) +
                 " tokens, expected none or the " + std::to_string(tokens->count) + " that '" +
                 name + ".count' says");
}

Result<Receipt> ReadReceipt(const JsonValue& root) {
  Receipt receipt;
  Members members("", root);
  int form = 0;
  members.Int("skald_receipt", &form, kReceiptForm, kReceiptForm);
  members.String("version", &receipt.version);
  members.Int("numerics", &receipt.numerics, 1);
  const std::optional<JsonValue> model = members.Take("model");
  const std::optional<JsonValue> sampling = members.Take("sampling");
  const std::optional<JsonValue> stop = members.Take("stop");
  members.Int("sequence", &receipt.sequence, 0, kMaxSequences - 1);
  const std::optional<JsonValue> prompt = members.Take("prompt");
  const std::optional<JsonValue> output = members.Take("output");
  members.String("links", &receipt.links);
  members.Digits("chain", kDigestDigits, &receipt.chain);
  members.Digits("seal", kDigestDigits, &receipt.seal);
  RETURN_IF_ERROR(members.End());
  RETURN_IF_ERROR(ReadModel(model, &receipt));
  RETURN_IF_ERROR(ReadSampling(sampling, &receipt.sampling));
  RETURN_IF_ERROR(ReadStop(stop, &receipt.stop));
  RETURN_IF_ERROR(ReadTokens("prompt", prompt, &receipt.prompt));
  RETURN_IF_ERROR(ReadTokens("output", output, &receipt.output));
  const int64_t digits = receipt.output.count * static_cast<int64_t>(proof::kLinkDigits);
  if (std::ssize(receipt.links) == digits) return receipt;
  return Invalid("'links' has " + std::to_string(receipt.links.size()) + " digits, expected " +
                 std::to_string(digits) + ": " + std::to_string(proof::kLinkDigits) +
                 " for each token of the output");
}

}  // namespace

Result<Receipt> ParseReceipt(std::string_view text) {
  if (text.size() > kMaxReceiptBytes) {
    return Invalid("it has " + std::to_string(text.size()) + " bytes, expected at most " +
                   std::to_string(kMaxReceiptBytes));
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (!text.starts_with('{') || !text.ends_with('}')) {
    return Invalid("expected one JSON object, from the first byte to the last");
  }
  Result<JsonTree> tree = JsonTree::Parse(text, {.number_texts = true});
  if (!tree.ok()) return Invalid(tree.status().message());
  return ReadReceipt(tree->root());
}

}  // namespace skald
