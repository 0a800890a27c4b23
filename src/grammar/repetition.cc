#include "grammar/repetition.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

Status TooLarge(const SourceText& text) {
  return text.Error("a repetition above " + std::to_string(kRepeatMax));
}

// Of `expression` inside of repetitions that come to `copies`, `depth` of them.
Status Check(const Expression& expression, uint64_t copies, int depth) {
  if (expression.kind == ExpressionKind::kRepeat) {
    const uint32_t most = expression.max == kUnbounded ? expression.min : expression.max;
    if (most > 1) ++depth;
    copies *= std::max(most, 1U);  // both are below 2^31: no overflow
    // A single one costs nothing: it is counted.
    if (depth > 1 && copies > kNestedCopiesMax)
      return Status(ErrorCode::kInvalidArgument,
                    "repetitions inside of one another come to " + std::to_string(copies) +
                        " copies and more, at most " + std::to_string(kNestedCopiesMax));
  }
  for (const Expression& part : expression.parts) RETURN_IF_ERROR(Check(part, copies, depth));
  return Ok();
}

Result<Repetition> TakeBraces(SourceText* text) {
  const size_t begin = text->at();
  text->Take();
  const std::optional<uint32_t> min = text->TakeNumber(kRepeatMax);
  if (!min.has_value())
    return SourceText::ErrorAt(begin, "a brace that is no repetition (write \\{ or {0,n})");
  if (*min > kRepeatMax) return TooLarge(*text);
  Repetition repetition{*min, *min};
  if (text->TakeIf(",")) {
    const std::optional<uint32_t> max = text->TakeNumber(kRepeatMax);
    if (max.has_value() && *max > kRepeatMax) return TooLarge(*text);
    repetition.max = max.value_or(kUnbounded);
  }
  if (!text->TakeIf("}")) return SourceText::ErrorAt(begin, "a repetition without }");
  if (repetition.min > repetition.max)
    return SourceText::ErrorAt(begin, "a repetition upside down");
  return repetition;
}

}  // namespace

Result<std::optional<Repetition>> TakeRepetition(SourceText* text) {
  if (text->TakeIf("*")) return std::optional(Repetition{0, kUnbounded});
  if (text->TakeIf("+")) return std::optional(Repetition{1, kUnbounded});
  if (text->TakeIf("?")) return std::optional(Repetition{0, 1});
  if (text->Peek() != '{') return std::optional<Repetition>();
  ASSIGN_OR_RETURN(const Repetition repetition, TakeBraces(text));
  return std::optional(repetition);
}

Status CheckNestedCopies(const Expression& expression) { return Check(expression, 1, 0); }

}  // namespace skald::grammar
