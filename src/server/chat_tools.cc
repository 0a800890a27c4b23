#include "server/chat_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/json_size.h"
#include "server/raw_member.h"
#include "server/tool_choice.h"

namespace skald::server {

namespace {

namespace json = boost::json;

const json::object* ObjectIn(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

// The types that a schema of an argument names, in all its alternatives.
void AddTypes(const json::object& schema, int depth, std::set<std::string_view>& types) {
  constexpr int kDepth = 4;
  const auto add = [&](const json::value& type) {
    if (type.is_string()) types.insert(type.get_string());
  };
  if (const json::value* type = schema.if_contains("type")) {
    add(*type);
    if (const json::array* list = type->if_array()) std::for_each(list->begin(), list->end(), add);
  } else if (const json::value* values = schema.if_contains("enum");
             values != nullptr && values->is_array()) {
    for (const json::value& value : values->get_array())
      types.insert(value.is_string() ? "string" : (value.is_null() ? "null" : "value"));
  }
  for (const std::string_view name : {"anyOf", "oneOf", "allOf"}) {
    const json::value* list = schema.if_contains(name);
    if (list == nullptr || !list->is_array() || depth == kDepth) continue;
    for (const json::value& each : list->get_array())
      if (const json::object* object = each.if_object()) AddTypes(*object, depth + 1, types);
  }
}

ChatTool::Kind KindOf(const json::value& schema) {
  std::set<std::string_view> types;
  if (const json::object* object = schema.if_object()) AddTypes(*object, 0, types);
  if (types.empty()) return ChatTool::Kind::kAny;
  if (!types.contains("string")) return ChatTool::Kind::kValue;
  if (types.size() == 1) return ChatTool::Kind::kString;
  return types.size() == 2 && types.contains("null") ? ChatTool::Kind::kStringOrNull
                                                     : ChatTool::Kind::kAny;
}

std::vector<ChatTool::Parameter> ParametersOf(const json::object& function) {
  std::vector<ChatTool::Parameter> parameters;
  const json::object* schema = ObjectIn(function, "parameters");
  const json::object* properties = schema == nullptr ? nullptr : ObjectIn(*schema, "properties");
  if (properties == nullptr) return parameters;
  for (const auto& member : *properties)
    parameters.push_back({std::string(member.key()), KindOf(member.value())});
  return parameters;
}

std::string SizeShown(const json::value& list) {
  return list.is_array() ? fmt::format("an array of {}", list.get_array().size()) : Shown(list);
}

// Adds a tool as `tools` have it.
void ReadTool(Fields& fields, const std::string& name, const json::value& value, ToolList& list) {
  const json::object* tool = value.if_object();
  const json::value* type = tool == nullptr ? nullptr : tool->if_contains("type");
  if (type == nullptr || *type != "function")
    return fields.Fail(
        BadRequest(name, fmt::format("{} is {}, expected an object with the type \"function\"",
                                     name, type == nullptr ? Shown(value) : Shown(*type))));
  const json::object* function = ObjectIn(*tool, "function");
  if (function == nullptr)
    return fields.Fail(
        BadRequest(name + ".function", fmt::format("{}.function is missing or no object", name)));
  list.NoteStrict(*function);
  list.Add(name + ".function", *function, *tool);
}

// As `functions` have it: without a frame.
void ReadFunction(Fields& fields, const std::string& name, const json::value& value,
                  ToolList& list) {
  const json::object* function = value.if_object();
  if (function == nullptr)
    return fields.Fail(
        BadRequest(name, fmt::format("{} is {}, expected an object", name, Shown(value))));
  list.NoteStrict(*function);
  list.Add(name, *function, {{"type", "function"}, {"function", *function}});
}

}  // namespace

bool IsToolName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

void ToolList::Read(std::string_view field, ReadOne read, std::vector<std::string> inside) {
  const json::value* found = fields_.Any(field);
  if (found == nullptr) return;
  inside_ = std::move(inside);
  use_.field = field;
  const json::array* all = Check(field, *found);
  for (size_t i = 0; all != nullptr && i < all->size() && !fields_.error(); ++i)
    read(fields_, fmt::format("{}[{}]", field, i), (*all)[i], *this);
}

// Null after a failure.
const json::array* ToolList::Check(std::string_view field, const json::value& list) {
  if (!list.is_array() || list.get_array().size() > kMaxTools) {
    fields_.Fail(
        BadRequest(std::string(field), fmt::format("{} is {}, expected an array of at most {}",
                                                   field, SizeShown(list), kMaxTools)));
    return nullptr;
  }
  const JsonSize size = SizeOf(list);
  if (size.bytes <= kMaxToolBytes) return &list.get_array();
  fields_.Fail(
      BadRequest(std::string(field),
                 fmt::format("{} have {} bytes of names and strings together, expected at most {}",
                             field, size.bytes, kMaxToolBytes)));
  return nullptr;
}

void ToolList::Add(const std::string& name, const json::object& function, json::object definition) {
  const json::value* called = function.if_contains("name");
  if (called == nullptr || !called->is_string() || !IsToolName(called->get_string()))
    return fields_.Fail(BadRequest(
        name + ".name",
        fmt::format("{}.name is {}, expected 1 to {} letters, digits, '_', '-' and '.'", name,
                    called == nullptr ? "missing" : Shown(*called), kMaxToolNameBytes)));
  const std::string tool(called->get_string());
  if (!names_.insert(tool).second)
    return fields_.Fail(
        BadRequest(name + ".name", fmt::format("{}.name is '{}', as another one's", name, tool)));
  const json::value* parameters = function.if_contains("parameters");
  if (parameters != nullptr && !parameters->is_object() && !parameters->is_null())
    return fields_.Fail(BadRequest(
        name + ".parameters",
        fmt::format("{}.parameters is {}, expected an object", name, Shown(*parameters))));
  tools_.push_back({.name = tool, .parameters = ParametersOf(function)});
  use_.schemas.push_back({.inside = inside_, .is_strict = std::exchange(next_is_strict_, false)});
  use_.definitions.push_back(std::move(definition));
}

void ToolList::NoteStrict(const json::object& holder) {
  const json::value* strict = holder.if_contains("strict");
  if (strict != nullptr && !strict->is_bool() && !strict->is_null())
    fields_.Fail(WrongMember(fmt::format("{}[{}].strict", use_.field, tools_.size()), strict,
                             "true or false"));
  next_is_strict_ = strict != nullptr && *strict == true;
}

ChatToolUse ToolList::Take() {
  if (!tools_.empty())
    use_.tools = std::make_shared<const std::vector<ChatTool>>(std::move(tools_));
  return std::move(use_);
}

void TakeRawSchemas(std::string_view body, ChatToolUse* use) {
  if (use->schemas.empty()) return;
  const std::vector<std::string_view> tools = RawElements(RawMember(body, use->field));
  for (size_t i = 0; i < std::min(tools.size(), use->schemas.size()); ++i) {
    std::string_view text = tools[i];
    for (const std::string& name : use->schemas[i].inside) text = RawMember(text, name);
    if (text != "null") use->schemas[i].text = text;
  }
}

std::string PointerOf(const ChatToolUse& use, size_t index) {
  return fmt::format("/{}/{}/{}", use.field, index, fmt::join(use.schemas[index].inside, "/"));
}

ChatToolUse ReadChatTools(Fields& fields) {
  ToolList list(fields);
  const json::value* tools = fields.Any("tools");
  const json::value* functions = fields.Any("functions");
  if (tools != nullptr && functions != nullptr)
    fields.Fail(BadRequest("functions",
                           "functions are tools by an older name: expected one of "
                           "the two"));
  list.Read("tools", ReadTool, {"function", "parameters"});
  list.Read("functions", ReadFunction, {"parameters"});
  ChatToolUse use = list.Take();
  use.as_function = functions != nullptr;
  use.one_call = use.as_function || !fields.Bool("parallel_tool_calls").value_or(true);
  use = ChooseTools(fields, "tool_choice", std::move(use));
  return ChooseTools(fields, "function_call", std::move(use));
}

}  // namespace skald::server
