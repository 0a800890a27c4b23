#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "skald/chat_answer.h"

namespace skald {

namespace {

namespace json = boost::json;

// The name of the argument: as data, as Python prints it in an object, as it stands in JSON.
constexpr std::string_view kName = "skald_probe";
constexpr std::string_view kPrinted = "'skald_probe'";
constexpr std::string_view kAsJson = "\"skald_probe\": \"x\"";

// A history whose call has these arguments; empty if the template refuses them.
std::string Rendered(const ChatTemplate& chat, const json::value& arguments) {
  const json::object function{{"name", "f"}, {"arguments", arguments}};
  const json::array calls{
      json::object{{"id", "call00000"}, {"type", "function"}, {"function", function}}};
  const json::array tools{json::object{
      {"type", "function"},
      {"function", json::object{{"name", "f"}, {"parameters", json::object{{"type", "object"}}}}}}};
  json::object variables{{"tools", tools}};
  variables["messages"] =
      json::array{json::object{{"role", "user"}, {"content", "a"}},
                  json::object{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", calls}},
                  json::object{{"role", "tool"}, {"tool_call_id", "call00000"}, {"content", "b"}}};
  const Result<RenderedPrompt> rendered = chat.Render(variables, {});
  return rendered.ok() ? rendered->text : std::string();
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

ToolArguments ToolArgumentsOf(const ChatTemplate& chat) {
  const std::string with_object = Rendered(chat, json::object{{kName, "x"}});
  if (Has(with_object, kName) && !Has(with_object, kPrinted)) return ToolArguments::kObject;
  const std::string with_text = Rendered(chat, json::string(R"({"skald_probe": "x"})"));
  return Has(with_text, kAsJson) ? ToolArguments::kText : ToolArguments::kObject;
}

}  // namespace skald
