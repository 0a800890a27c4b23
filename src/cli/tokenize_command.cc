#include "cli/tokenize_command.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/parse_number.h"
#include "cli/table.h"
#include "skald/model.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald tokenize "Once upon a time"                ids and what each stands for
  skald tokenize --ids "Once upon a time"          0,431,430,262,393
  skald tokenize --decode 431,430,262,393          the text again
  skald tokenize -m model.gguf --special -f chat.txt --json
)";

std::string TokenTable(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Table table({Align::kRight, Align::kLeft});
  for (const TokenId id : ids)
    table.Add({fmt::format("{}", id), fmt::format("'{}'", tokenizer.EscapedToken(id))});
  return table.Text();
}

std::string TokenJson(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  JsonWriter json;
  json.BeginObject();
  json.Key("count").Int(static_cast<int64_t>(ids.size()));
  json.Key("ids").BeginArray();
  for (const TokenId id : ids) json.Int(id);
  json.EndArray();
  json.Key("tokens").BeginArray();
  for (const TokenId id : ids) json.String(tokenizer.EscapedToken(id));
  json.EndArray();
  json.EndObject();
  return json.Take() + '\n';
}

Status EncodeAndPrint(const TokenizeOptions& options, const Tokenizer& tokenizer,
                      const std::string& text, Console& console) {
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids, tokenizer.Encode(text, options.text.encode));
  if (options.output.form == OutputForm::kJson) return console.Write(TokenJson(tokenizer, ids));
  if (options.ids == IdForm::kList)
    RETURN_IF_ERROR(console.Write(fmt::format("{}\n", fmt::join(ids, ","))));
  else
    RETURN_IF_ERROR(console.Write(TokenTable(tokenizer, ids)));
  console.Note(fmt::format("{} tokens", ids.size()));
  return Ok();
}

Status DecodeAndPrint(const TokenizeOptions& options, const Tokenizer& tokenizer,
                      Console& console) {
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids, ParseTokenIds(*options.decode));
  for (const TokenId id : ids)
    if (!tokenizer.Contains(id))
      return Status(ErrorCode::kInvalidArgument,
                    fmt::format("token {} is not in the vocabulary, which has {} tokens", id,
                                tokenizer.vocab_size()));
  const std::string bytes = tokenizer.DecodeBytes(ids, {.control = ControlTokens::kShow});
  if (options.output.form == OutputForm::kJson) {
    JsonWriter json;
    json.BeginObject();
    json.Key("text").String(bytes);
    json.EndObject();
    return console.Write(json.Take() + '\n');
  }
  RETURN_IF_ERROR(console.WriteText(bytes));
  return console.terminals().output ? console.Write("\n") : Ok();
}

}  // namespace

void AddTokenizeCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"tokenize", "Show the tokens of a text, or decode ids", kExamples});
  const auto options = std::make_shared<TokenizeOptions>();
  AddTextArgs(verb, options->text, "text");
  AddText(verb, {"--decode", "print the text of these ids instead"}, "IDS", options->decode);
  AddModelArgs(verb, options->model);
  AddSwitch(verb, {"--ids", "print only the ids, separated by commas"}, options->ids,
            IdForm::kList);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Tokenize, &chosen);
}

Status Tokenize(const TokenizeOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  const TextArgs& source = options.text;
  std::optional<std::string> text;
  if (!options.decode.has_value()) {
    ASSIGN_OR_RETURN(text, ReadText(source, console.terminals()));
    if (!text.has_value())
      return Status(ErrorCode::kInvalidArgument,
                    "no text: give one as argument, with -p, with -f, or on stdin");
  } else if (source.argument.has_value() || source.prompt.has_value() || source.file.has_value()) {
    return Status(ErrorCode::kInvalidArgument, "--decode takes ids, not a text");
  } else {
    RETURN_IF_ERROR(ParseTokenIds(*options.decode).status().WithContext("--decode"));
  }
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Tokenizer tokenizer, LoadTokenizer(path));
  if (text.has_value()) return EncodeAndPrint(options, tokenizer, *text, console);
  return DecodeAndPrint(options, tokenizer, console);
}

}  // namespace skald::cli
