#include "huggingface/tokenizer_steps.h"

#include <optional>

namespace skald::huggingface {

std::string_view JsonText(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = object.Find(name);
  return value ? value->AsString().value_or("") : "";
}

bool JsonFlag(JsonValue object, std::string_view name, bool fallback) {
  const std::optional<JsonValue> value = object.Find(name);
  return value ? value->AsBool().value_or(fallback) : fallback;
}

std::vector<JsonValue> JsonSteps(JsonValue tokenizer, std::string_view name,
                                 std::string_view inner) {
  std::vector<JsonValue> steps;
  const std::optional<JsonValue> whole = tokenizer.Find(name);
  if (!whole || !whole->IsObject()) return steps;
  const std::optional<JsonValue> list = whole->Find(inner);
  if (!list) return {*whole};
  for (const JsonValue step : *list) steps.push_back(step);
  return steps;
}

}  // namespace skald::huggingface
