#include "skald/chat_template.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/status_macros.h"
#include "chat/builtins.h"
#include "chat/evaluator.h"
#include "chat/json_value.h"
#include "chat/parser.h"
#include "chat/rendering.h"

namespace skald {

struct ChatTemplate::State {
  std::string source;
  chat::SyntaxTree tree;
  ChatTokens tokens;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const std::string& ChatTemplate::source() const { return state_->source; }

bool ChatTemplate::Reads(std::string_view variable) const {
  const chat::SyntaxTree& tree = state_->tree;
  for (size_t i = 0; i < tree.symbols.size(); ++i)
    if (tree.symbols[i] == variable) return tree.read[i];
  return false;
}

Result<ChatTemplate> ChatTemplate::Create(std::string_view source, const ChatTokens& tokens) {
  if (source.size() > kMaxSourceBytes) {
    return Status(ErrorCode::kBadModel, "the chat template is too long: expected at most " +
                                            std::to_string(kMaxSourceBytes) + " bytes, found " +
                                            std::to_string(source.size()));
  }
  auto state = std::make_shared<State>();
  state->source = source;
  ASSIGN_OR_RETURN(state->tree, chat::Parse(source));
  state->tokens = tokens;
  return ChatTemplate(std::move(state));
}

namespace {

using chat::Dict;
using chat::Heap;
using chat::Origin;
using chat::Sequence;
using chat::Text;
using chat::Value;

// The roles of the formats that templates are written for. Templates build markers from them ("<|"
// + role + "|>"), so these words count as the template's own; any other word is data and cannot
// become part of a control token.
constexpr std::string_view kRoles[] = {"system",        "user",     "assistant", "tool",
                                       "developer",     "function", "ipython",   "observation",
                                       "tool_response", "model"};

void TrustRoles(Heap& heap, const Value& messages) {
  auto* const* list = std::get_if<Sequence*>(&messages);
  if (list == nullptr) return;
  for (const Value& message : (*list)->items) {
    auto* const* dict = std::get_if<Dict*>(&message);
    if (dict == nullptr) continue;
    const Value* role = (*dict)->Get("role", heap.budget());
    const Text* text = role == nullptr ? nullptr : chat::AsText(*role);
    if (text == nullptr) continue;
    const auto* known = std::find(std::begin(kRoles), std::end(kRoles), text->bytes());
    if (known == std::end(kRoles)) continue;
    const Text key("role", Origin::kData);
    heap.Set(**dict, key, Text(std::string(*known), Origin::kTemplate));
  }
}

// The variables of one rendering by their symbols; those the template never mentions are left out.
class Variables {
 public:
  explicit Variables(const chat::SyntaxTree& tree) : tree_(tree) {}

  void Set(std::string_view name, Value value) {
    if (const std::optional<chat::SymbolId> symbol = SymbolOf(name))
      values_.emplace_back(*symbol, std::move(value));
  }
  Status Convert(Heap& heap, const boost::json::object& variables) {
    for (const auto& [key, json] : variables) {
      const std::string_view name(key.data(), key.size());
      if (!SymbolOf(name)) continue;
      Result<Value> value = chat::FromJsonValue(heap, json);
      if (!value.ok()) return std::move(value).status().WithContext(name);
      if (name == "messages") TrustRoles(heap, *value);
      Set(name, *std::move(value));
    }
    return Ok();
  }
  const std::vector<std::pair<chat::SymbolId, Value>>& values() const { return values_; }

 private:
  std::optional<chat::SymbolId> SymbolOf(std::string_view name) const {
    const auto found = std::find(tree_.symbols.begin(), tree_.symbols.end(), name);
    if (found == tree_.symbols.end()) return std::nullopt;
    return static_cast<chat::SymbolId>(found - tree_.symbols.begin());
  }

  const chat::SyntaxTree& tree_;
  std::vector<std::pair<chat::SymbolId, Value>> values_;
};

}  // namespace

Result<RenderedPrompt> ChatTemplate::Render(const boost::json::object& variables,
                                            std::chrono::local_seconds now, StopCheck stop) const {
  chat::Budget budget(stop);
  return chat::RenderTree(state_->tree, state_->tokens, {variables, now}, budget);
}

Result<RenderedPrompt> chat::RenderTree(const SyntaxTree& tree, const ChatTokens& tokens,
                                        const RenderInput& input, Budget& budget) {
  Heap heap(budget);
  Runtime runtime{heap, input.now};
  Variables values(tree);
  values.Set("tools", None{});
  values.Set("documents", None{});
  values.Set("add_generation_prompt", false);
  values.Set("bos_token", Text(tokens.bos, Origin::kTemplate));
  values.Set("eos_token", Text(tokens.eos, Origin::kTemplate));
  RETURN_IF_ERROR(values.Convert(heap, input.variables));
  const auto loop = std::find(tree.symbols.begin(), tree.symbols.end(), "loop");
  // Where the template never says "loop", any number that is no symbol will do.
  const auto loop_symbol = static_cast<SymbolId>(loop - tree.symbols.begin());
  Evaluator evaluator(tree, runtime, loop_symbol);
  ASSIGN_OR_RETURN(const Text text, evaluator.Run(values.values()));
  return RenderedPrompt{std::string(text.bytes()),
                        {text.from_template().begin(), text.from_template().end()}};
}

namespace {

// What the conversation, the model or the interpreter decides, not who sends variables along.
constexpr std::string_view kReservedVariables[] = {
    "messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token", "loop"};

bool IsVariableName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= kMaxVariableNameBytes && letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status CheckExtraVariable(std::string_view name, const boost::json::object& variables) {
  const auto refuse = [](std::string message) {
    return Status(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (!IsVariableName(name)) {
    return refuse(chat::Quoted(name.substr(0, kMaxVariableNameBytes)) +
                  " is no name of a variable: expected letters, digits and '_', at most " +
                  std::to_string(kMaxVariableNameBytes) + " of them");
  }
  const bool reserved = std::find(std::begin(kReservedVariables), std::end(kReservedVariables),
                                  name) != std::end(kReservedVariables);
  if (reserved || chat::FindGlobal(name) != nullptr)
    return refuse(chat::Quoted(name) + " is not a variable that can be sent along");
  if (variables.contains(boost::json::string_view(name.data(), name.size())))
    return refuse(chat::Quoted(name) + " is given twice");
  return Ok();
}

}  // namespace

Status AddChatVariables(const boost::json::object& extra, boost::json::object* variables) {
  if (extra.size() > kMaxExtraVariables) {
    return Status(ErrorCode::kInvalidArgument, "too many variables: expected at most " +
                                                   std::to_string(kMaxExtraVariables) + ", found " +
                                                   std::to_string(extra.size()));
  }
  for (const auto& [key, value] : extra)
    RETURN_IF_ERROR(CheckExtraVariable({key.data(), key.size()}, *variables));
  for (const auto& [key, value] : extra) variables->emplace(key, value);
  return Ok();
}

Result<ChatPrompt> MakeChatPrompt(const ChatTemplate& chat, const Tokenizer& tokenizer,
                                  const boost::json::object& variables,
                                  std::chrono::local_seconds now, StopCheck stop) {
  ASSIGN_OR_RETURN(RenderedPrompt rendered, chat.Render(variables, now, stop));
  const std::string_view bos = tokenizer.TokenBytes(tokenizer.bos_id());
  const bool spells_bos = !bos.empty() && rendered.text.starts_with(bos) &&
                          !rendered.from_template.empty() && rendered.from_template[0].begin == 0 &&
                          rendered.from_template[0].end >= bos.size();
  // Most templates spell the BOS; what the tokenizer adds at the end has no place in a prompt.
  ASSIGN_OR_RETURN(
      std::vector<TokenId> tokens,
      tokenizer.EncodeMixed(rendered.text, rendered.from_template, BoundaryTokens::kNone, stop));
  if (!spells_bos && tokenizer.add_bos()) tokens.insert(tokens.begin(), tokenizer.bos_id());
  const bool ends_with_template =
      !rendered.from_template.empty() && rendered.from_template.back().end == rendered.text.size();
  const size_t tail =
      ends_with_template ? rendered.text.size() - rendered.from_template.back().begin : 0;
  return ChatPrompt{std::move(rendered.text), std::move(tokens), tail};
}

Result<ChatPrompt> MakeChatPromptFromJson(const ChatTemplate& chat, const Tokenizer& tokenizer,
                                          std::string_view variables,
                                          std::chrono::local_seconds now, StopCheck stop) {
  namespace json = boost::json;
  json::error_code error;
  json::stream_parser parser;
  const size_t read = parser.write_some(variables.data(), variables.size(), error);
  if (!error) parser.finish(error);
  const bool ends = variables.find_first_not_of(" \t\r\n", read) == std::string_view::npos;
  if (error || !ends) {
    return Status(ErrorCode::kInvalidArgument,
                  "the variables are no JSON: byte " + std::to_string(read) +
                      (error ? ": " + error.message() : ": more follows behind the value"));
  }
  const json::value value = parser.release();
  if (!value.is_object())
    return Status(ErrorCode::kInvalidArgument, "the variables must be a JSON object");
  return MakeChatPrompt(chat, tokenizer, value.get_object(), now, stop);
}

}  // namespace skald
