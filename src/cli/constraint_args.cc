#include "cli/constraint_args.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"

namespace skald::cli {
namespace {

constexpr const char* kGroup = "Form of the text";

// What a schema begins with, and no name of a file does that a person would type without "./".
bool IsSchema(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text == "true");
}

struct Source {
  std::string name;  // for messages
  std::string text;
};

Result<Source> FromFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadInput(path));
  return Source{path, std::move(text)};
}

Result<std::optional<Grammar>> Compiled(const Source& source,
                                        Result<Grammar> (*compile)(std::string_view)) {
  Result<Grammar> grammar = compile(source.text);
  if (!grammar.ok()) return std::move(grammar).status().WithContext(source.name);
  return std::optional<Grammar>(*std::move(grammar));
}

}  // namespace

void AddConstraintArgs(CLI::App& app, ConstraintArgs& args) {
  AddText(app, {"-j,--json-schema", "keep to a JSON Schema: the schema, or its file; - is stdin"},
          kFileType, args.json_schema)
      .Group(kGroup);
  AddText(app, {"--grammar", "keep to a grammar as llama.cpp has them (GBNF)"}, "GBNF",
          args.grammar)
      .Group(kGroup);
  AddText(app, {"--grammar-file", "the same, from a file; - is stdin"}, kFileType,
          args.grammar_file)
      .Group(kGroup);
  AddText(app, {"--regex", "keep to a regular expression, which the whole text matches"}, "REGEX",
          args.regex)
      .Group(kGroup);
}

Result<std::optional<Grammar>> ReadGrammar(const ConstraintArgs& args) {
  const int given = int{args.json_schema.has_value()} + int{args.grammar.has_value()} +
                    int{args.grammar_file.has_value()} + int{args.regex.has_value()};
  if (given == 0) return std::optional<Grammar>();
  if (given > 1) {
    return Status(ErrorCode::kInvalidArgument,
                  "two forms of the text: give one of --json-schema, --grammar, --grammar-file and "
                  "--regex");
  }
  if (args.regex) return Compiled({"--regex", *args.regex}, Grammar::FromRegex);
  if (args.grammar) return Compiled({"--grammar", *args.grammar}, Grammar::FromGbnf);
  if (args.grammar_file) {
    ASSIGN_OR_RETURN(const Source source, FromFile(*args.grammar_file));
    return Compiled(source, Grammar::FromGbnf);
  }
  Source schema{"--json-schema", *args.json_schema};
  if (!IsSchema(schema.text)) {
    ASSIGN_OR_RETURN(schema, FromFile(*args.json_schema));
  }
  return Compiled(schema, [](std::string_view text) { return Grammar::FromJsonSchema(text); });
}

Result<std::optional<Constraint>> ConstraintFor(const std::optional<Grammar>& grammar,
                                                const Model& model) {
  if (!grammar) return std::optional<Constraint>();
  const Vocabulary vocabulary = Vocabulary::FromTokenizer(model.tokenizer());
  ASSIGN_OR_RETURN(Constraint constraint, Constraint::Create(*grammar, vocabulary));
  return std::optional<Constraint>(std::move(constraint));
}

}  // namespace skald::cli
