#include "cli/proof_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/json_writer.h"
#include "cli/format.h"
#include "skald/engine.h"

namespace skald::cli {
namespace {

// Of 64 digits of a hash: two that differ are the same here once in 2^64.
constexpr size_t kShownDigits = 16;

std::string LineOf(const std::string& name, const std::string& tokens, const std::string& logits,
                   const std::string& time, const std::string& note) {
  std::string line =
      fmt::format("{:<13}  {:<16}  {:<16}  {:>7}  {}", name, tokens, logits, time, note);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

int64_t CountRan(const ProofReport& report) {
  return std::count_if(report.rows.begin(), report.rows.end(),
                       [](const ProofRow& row) { return row.ran; });
}

std::string FloatWithBits(float value) {
  return fmt::format("{} (0x{:08x})", value, std::bit_cast<uint32_t>(value));
}

std::string TokenName(TokenId token) {
  return token == kNoToken ? "the end" : std::to_string(token);
}

std::string DifferenceLine(const ProofRow& row) {
  const ProofDifference& at = *row.difference;
  std::string line = fmt::format("{}: first different at token {} of the answer", row.name, at.row);
  if (at.token != kNoToken) {
    line += fmt::format(": logit of token id {} is {}, expected {}", at.token,
                        FloatWithBits(at.found), FloatWithBits(at.expected));
  }
  if (at.found_token != at.expected_token) {
    line += fmt::format("; drawn {}, expected {}", TokenName(at.found_token),
                        TokenName(at.expected_token));
  }
  return line + '\n';
}

void WriteDifference(const ProofDifference& at, JsonWriter& json) {
  const auto token = [&json](std::string_view key, TokenId id) {
    json.Key(key);
    id == kNoToken ? json.Null() : json.Int(id);
  };
  json.Key("difference").BeginObject();
  json.Key("row").Int(at.row);
  token("token", at.token);
  json.Key("expected").Float(at.expected).Key("found").Float(at.found);
  token("expected_token", at.expected_token);
  token("found_token", at.found_token);
  json.EndObject();
}

void WriteRow(const ProofRow& row, JsonWriter& json) {
  json.BeginObject().Key("name").String(row.name);
  json.Key("ran").Bool(row.ran).Key("note").String(row.note);
  if (row.ran) {
    json.Key("equal").Bool(!row.difference.has_value());
    json.Key("tokens_sha256").String(row.tokens_sha256);
    json.Key("logits_sha256").String(row.logits_sha256);
    json.Key("seconds").Double(row.seconds);
  }
  if (row.difference.has_value()) WriteDifference(*row.difference, json);
  json.EndObject();
}

}  // namespace

int64_t CountDifferent(const ProofReport& report) {
  return std::count_if(report.rows.begin(), report.rows.end(),
                       [](const ProofRow& row) { return row.difference.has_value(); });
}

std::string ProofHead() { return LineOf("run", "tokens", "logits", "time", ""); }

std::string ProofLine(const ProofRow& row) {
  if (!row.ran) return LineOf(row.name, "not run", "", "", row.note);
  std::string note = row.difference.has_value() ? "DIFFERS" : "";
  if (!row.note.empty()) note += (note.empty() ? "" : "; ") + row.note;
  return LineOf(row.name, row.tokens_sha256.substr(0, kShownDigits),
                row.logits_sha256.substr(0, kShownDigits), Duration(row.seconds), note);
}

std::string ProofVerdict(const ProofReport& report) {
  std::string text;
  for (const ProofRow& row : report.rows) {
    if (row.difference.has_value()) text += DifferenceLine(row);
  }
  if (!text.empty()) return text;
  return fmt::format("{} runs, the same bits: prompt of {} tokens, answer of {}, seed {}\n",
                     CountRan(report), report.prompt_tokens, report.answer_tokens, report.seed);
}

std::string ProofJson(const ProofReport& report) {
  JsonWriter json;
  json.BeginObject().Key("model").String(report.model);
  json.Key("equal").Bool(CountDifferent(report) == 0);
  json.Key("prompt_tokens").Int(report.prompt_tokens);
  json.Key("answer_tokens").Int(report.answer_tokens);
  json.Key("seed").Uint(report.seed);
  json.Key("numerics_version").Int(kNumericsVersion);
  json.Key("runs").BeginArray();
  for (const ProofRow& row : report.rows) WriteRow(row, json);
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace skald::cli
