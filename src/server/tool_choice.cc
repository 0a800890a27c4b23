#include "server/tool_choice.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr std::string_view kExpected =
    "auto, none, required, a function by its name, or allowed_tools";

// The name in {"type": "function", "function": {"name"}}, or without the frame; empty if there is
// none.
std::string_view NameIn(const json::value& choice) {
  const json::object* object = choice.if_object();
  if (object == nullptr) return {};
  if (const json::value* framed = object->if_contains("function")) return NameIn(*framed);
  const json::value* name = object->if_contains("name");
  return name == nullptr || !name->is_string() ? std::string_view() : name->get_string();
}

// Leaves only the tools of these names.
void Allow(Fields& fields, std::string_view field, const std::vector<std::string_view>& names,
           ChatToolUse* use) {
  for (ToolSchema& schema : use->schemas) schema.is_callable = false;
  use->is_limited = true;
  for (const std::string_view name : names) {
    size_t found = 0;
    while (found < use->schemas.size() && (*use->tools)[found].name != name) ++found;
    if (found == use->schemas.size())
      return fields.Fail(BadRequest(
          std::string(field), fmt::format("{} names the tool {}, which is not among the tools",
                                          field, ShownText(name))));
    use->schemas[found].is_callable = true;
  }
}

// {"type": "allowed_tools", "mode", "tools"}, in a frame or not.
void AllowTools(Fields& fields, std::string_view field, const json::value& choice,
                ChatToolUse* use) {
  const json::value* framed = choice.get_object().if_contains("allowed_tools");
  const json::value& body = framed == nullptr ? choice : *framed;
  const json::object* object = body.if_object();
  const json::value* list = object == nullptr ? nullptr : object->if_contains("tools");
  const json::value* mode = object == nullptr ? nullptr : object->if_contains("mode");
  const bool is_required = mode != nullptr && *mode == "required";
  const bool good = list != nullptr && list->is_array() && !list->get_array().empty() &&
                    list->get_array().size() <= kMaxTools && mode != nullptr &&
                    (is_required || *mode == "auto");
  if (!good)
    return fields.Fail(
        WrongMember(field, &choice, "allowed_tools with a mode of auto or required, and tools"));
  std::vector<std::string_view> names;
  for (const json::value& tool : list->get_array()) names.push_back(NameIn(tool));
  Allow(fields, field, names, use);
  if (is_required) use->must_call = true;
}

}  // namespace

void MustCall(Fields& fields, std::string_view name, const json::value& choice, ChatToolUse* use) {
  if (use->tools == nullptr)
    return fields.Fail(
        BadRequest(std::string(name), fmt::format("{} is {}, without tools", name, Shown(choice))));
  use->must_call = true;
}

void MustCallTool(Fields& fields, std::string_view name, std::string_view tool, ChatToolUse* use) {
  MustCall(fields, name, json::value(tool), use);
  if (use->tools == nullptr) return;
  use->one_call = true;
  Allow(fields, name, {tool}, use);
}

ChatToolUse ChooseTools(Fields& fields, std::string_view name, ChatToolUse use) {
  const json::value* choice = fields.Any(name);
  if (choice == nullptr || *choice == "auto") return use;
  if (*choice == "none") return {};
  if (*choice == "required") {
    MustCall(fields, name, *choice, &use);
    return use;
  }
  const json::object* object = choice->if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  const bool lists = type != nullptr && *type == "allowed_tools";
  const bool names_one = (type == nullptr || *type == "function") && !NameIn(*choice).empty();
  if (!lists && !names_one)
    fields.Fail(WrongMember(name, choice, kExpected));
  else if (use.tools == nullptr)
    MustCall(fields, name, *choice, &use);
  else if (lists)
    AllowTools(fields, name, *choice, &use);
  else
    MustCallTool(fields, name, NameIn(*choice), &use);
  return use;
}

}  // namespace skald::server
