#include "lab/answer.h"

#include "base/status_macros.h"
#include "lab/scores.h"

namespace skald::lab {
namespace {

Result<Reading> NewReading(const Bench& bench, const Lie& lie) {
  return Reading::Create(bench.model.transformer(), bench.machine, TotalOf(bench), lie);
}

}  // namespace

int64_t TotalOf(const Bench& bench) {
  return std::ssize(bench.question.prompt) + bench.question.max_tokens;
}

Reading::OnRow KeepIn(Rows* rows) {
  return
      [rows](std::span<const float> logits) { rows->emplace_back(logits.begin(), logits.end()); };
}

Result<Answer> AnswerOf(const Bench& bench, const Lie& lie, std::span<const TokenId> text) {
  ASSIGN_OR_RETURN(Reading reading, NewReading(bench, lie));
  Answer answer = {.tokens = bench.question.prompt, .rows = {}};
  RETURN_IF_ERROR(bench.GoOn());
  reading.Append(answer.tokens, KeepIn(&answer.rows));
  const auto total = static_cast<size_t>(TotalOf(bench));
  for (;;) {
    const size_t next = answer.tokens.size();
    answer.tokens.push_back(next < text.size() ? text[next] : Likeliest(answer.rows.back()));
    if (answer.tokens.size() == total) return answer;
    RETURN_IF_ERROR(bench.GoOn());
    reading.Append({&answer.tokens.back(), 1}, KeepIn(&answer.rows));
  }
}

Result<Rows> RowsAtOnce(const Bench& bench, std::span<const TokenId> text) {
  ASSIGN_OR_RETURN(Reading reading, NewReading(bench, {}));
  Rows rows;
  RETURN_IF_ERROR(bench.GoOn());
  reading.Append(text.first(text.size() - 1), KeepIn(&rows));
  return rows;
}

}  // namespace skald::lab
