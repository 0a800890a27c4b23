#include "cli/grammar_command.h"

#include <fmt/format.h>

#include <array>
#include <bitset>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald grammar check --json-schema person.json '{"name": "Ann"}'
  skald grammar check --gbnf chess.gbnf "1. e4 e5"
  skald grammar check --regex pattern.txt --text-file answers.txt --lines
)";

std::string ByteName(int byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\r') return "\\r";
  if (byte == '\t') return "\\t";
  if (byte == ' ') return "space";
  if (byte > ' ' && byte < 0x7F) return std::string(1, static_cast<char>(byte));
  return fmt::format("\\x{:02x}", byte);
}

// "0-9 A-F \n": runs of three and more as ranges.
std::string ByteNames(const std::bitset<256>& bytes) {
  std::vector<std::string> names;
  for (int first = 0; first < 256; ++first) {
    if (!bytes[first]) continue;
    int last = first;
    while (last + 1 < 256 && bytes[last + 1]) ++last;
    if (last - first >= 2) {
      names.push_back(ByteName(first) + "-" + ByteName(last));
      first = last;
    } else {
      names.push_back(ByteName(first));
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string WhatMayFollow(const GrammarCheck& check) {
  if (check.next.none()) return "the end only";
  return ByteNames(check.next) + (check.may_end ? ", or the end" : "");
}

Result<Grammar> Compile(const GrammarCommandOptions& options, const std::string& source) {
  if (options.json_schema.has_value()) return Grammar::FromJsonSchema(source, options.schema);
  return options.gbnf.has_value() ? Grammar::FromGbnf(source) : Grammar::FromRegex(source);
}

Result<Grammar> ReadGrammar(const GrammarCommandOptions& options) {
  const std::array<const std::optional<std::string>*, 3> paths = {&options.json_schema,
                                                                  &options.gbnf, &options.regex};
  std::optional<std::string> path;
  for (const std::optional<std::string>* one : paths) {
    if (!one->has_value()) continue;
    if (path.has_value()) return Status(ErrorCode::kInvalidArgument, "more than one grammar");
    path = *one;
  }
  if (!path.has_value())
    return Status(ErrorCode::kInvalidArgument,
                  "no grammar: give --json-schema FILE, --gbnf FILE or --regex FILE");
  ASSIGN_OR_RETURN(std::string source, ReadInput(*path));
  // The newline that an editor adds is no part of an expression; elsewhere it is a blank.
  source = WithoutFinalNewline(std::move(source));
  Result<Grammar> grammar = Compile(options, source);
  if (!grammar.ok()) return std::move(grammar).status().WithContext(*path);
  return grammar;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

// The texts to check; none at all is legal.
Result<std::vector<std::string>> ReadTexts(const GrammarCommandOptions& options) {
  if (options.text.has_value() && options.text_file.has_value())
    return Status(ErrorCode::kInvalidArgument, "two texts: one as argument, one by --text-file");
  if (options.lines && !options.text_file.has_value())
    return Status(ErrorCode::kInvalidArgument, "--lines needs --text-file");
  std::vector<std::string> texts;
  if (options.text.has_value()) texts.push_back(*options.text);
  if (options.text_file.has_value()) {
    ASSIGN_OR_RETURN(std::string text, ReadInput(*options.text_file));
    text = WithoutFinalNewline(std::move(text));
    if (options.lines)
      texts = Lines(text);
    else
      texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

std::string VerdictLine(const GrammarCheck& check, std::string_view text) {
  switch (check.verdict) {
    case GrammarVerdict::kAccepted: return fmt::format("accepted; next: {}", WhatMayFollow(check));
    case GrammarVerdict::kIncomplete:
      return fmt::format("incomplete after {} bytes; next: {}", check.good_bytes,
                         WhatMayFollow(check));
    case GrammarVerdict::kDead:
      return fmt::format("dead at byte {} ({}); possible: {}", check.good_bytes,
                         ByteName(static_cast<uint8_t>(text[check.good_bytes])),
                         WhatMayFollow(check));
    case GrammarVerdict::kTooComplex:
      return fmt::format("too complex at byte {}: the grammar is too ambiguous", check.good_bytes);
  }
  return {};
}

void AddGrammarCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"grammar", "Check whether a grammar takes a text, and what may follow", kExamples});
  const auto options = std::make_shared<GrammarCommandOptions>();
  AddValue(verb, {"action", "check: there is no other"}, kTextType, [](const std::string& word) {
    if (word == "check") return Ok();
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is not check", word));
  }).Require();
  AddText(verb, {"text", "the text to check"}, kTextType, options->text);
  AddText(verb, {"--json-schema", "a JSON Schema; - is stdin"}, kFileType, options->json_schema);
  AddSwitch(verb, {"--relaxed", "leave out what of the schema is not supported, and name it"},
            options->schema.mode, SchemaMode::kRelaxed);
  AddSwitch(verb, {"--no-whitespace", "none between the tokens of JSON texts"},
            options->schema.any_whitespace, false);
  AddText(verb, {"--gbnf", "a grammar as llama.cpp has them; - is stdin"}, kFileType,
          options->gbnf);
  AddText(verb, {"--regex", "a file with a regular expression that matches the whole text"},
          kFileType, options->regex);
  AddText(verb, {"--text-file", "the file with the text, less one newline at its end"}, kFileType,
          options->text_file);
  AddSwitch(verb, {"--lines", "each line of that file is a text"}, options->lines, true);
  AddConsoleArgs(verb, options->console);
  ChooseWhenParsed(verb, options, CheckGrammar, &chosen);
}

Status CheckGrammar(const GrammarCommandOptions& options, const Environment&, Console& console) {
  console.Configure(options.console);
  ASSIGN_OR_RETURN(const Grammar grammar, ReadGrammar(options));
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, ReadTexts(options));
  for (const std::string& pointer : grammar.left_out()) console.Note("left out: " + pointer);
  size_t accepted = 0;
  for (const std::string& text : texts) {
    const GrammarCheck check = CheckText(grammar, text);
    if (check.verdict == GrammarVerdict::kAccepted) ++accepted;
    RETURN_IF_ERROR(console.Write(VerdictLine(check, text) + "\n"));
  }
  if (accepted == texts.size()) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("{} of {} texts accepted", accepted, texts.size()));
}

}  // namespace skald::cli
