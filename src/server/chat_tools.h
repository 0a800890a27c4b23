/// Chat tools: `tools`, `tool_choice`, `parallel_tool_calls` of a chat, and what came before them,
/// `functions` and `function_call`.
///
/// The template gets the definitions as they stand, as transformers gives them; they are data, as
/// all that a client writes. What reads the answer gets names and kinds of arguments.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "skald/chat_answer.h"

namespace skald::server {

/// Bounds, as in OpenAI's API where that has one.
inline constexpr size_t kMaxTools = 128;
inline constexpr size_t kMaxToolNameBytes = 128;
inline constexpr size_t kMaxToolBytes = size_t{1} << 20;  ///< names and strings of all definitions

/// What the arguments of a tool must be, and where that stands in the body.
struct ToolSchema {
  std::vector<std::string> inside;  ///< of the tool's element: names of members
  bool is_strict = false;           ///< the tool wants its calls kept to it exactly
  bool is_callable = true;          ///< the choice leaves it
  std::string text = {};            ///< TakeRawSchemas; empty: the tool declares none
};

/// What a chat may call.
struct ChatToolUse {
  boost::json::array definitions = {};  ///< for the template
  /// The same for the reader of the answer; nullptr: there are none.
  std::shared_ptr<const std::vector<ChatTool>> tools = {};
  std::string field = {};                ///< where the tools stand
  std::vector<ToolSchema> schemas = {};  ///< of each of the tools
  bool must_call = false;                ///< a call is wanted
  bool is_limited = false;               ///< some of the tools are not to be called
  bool one_call = false;                 ///< parallel_tool_calls: false
  bool as_function = false;              ///< asked by `functions`, and answered so
};

/// The tools of one body, for the readers of all APIs.
class ToolList {
 public:
  explicit ToolList(Fields& fields) : fields_(fields) {}

  /// How a member of the list adds itself; `name`: where it stands.
  using ReadOne = void (*)(Fields& fields, const std::string& name,
                           const boost::json::value& member, ToolList& list);
  /// Reads the members of the list that `field` is, if it is there, until one fails. `inside`:
  /// where each has the schema of its arguments. Fails for no array, too many, too much.
  void Read(std::string_view field, ReadOne read, std::vector<std::string> inside);
  /// Adds a tool with the members name and parameters of `function`. `name`: where it stands;
  /// `definition`: what the template gets. Fails for a name that is none or was there, and for
  /// parameters that are no object.
  void Add(const std::string& name, const boost::json::object& function,
           boost::json::object definition);

  /// Looks for `strict` of the tool that is added next in what holds it.
  void NoteStrict(const boost::json::object& holder);

  /// What was added.
  ChatToolUse Take();

 private:
  const boost::json::array* Check(std::string_view field, const boost::json::value& list);

  Fields& fields_;
  ChatToolUse use_;
  std::vector<ChatTool> tools_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> inside_;
  bool next_is_strict_ = false;
};

/// Fails for what is no list of tools, and for a choice among others than these.
ChatToolUse ReadChatTools(Fields& fields);

/// Fills in the texts of the schemas from `body`, of which `use` was read. Linear.
void TakeRawSchemas(std::string_view body, ChatToolUse* use);

/// "/tools/3/function/parameters": where schema number `index` stands, as a JSON pointer.
std::string PointerOf(const ChatToolUse& use, size_t index);

/// Whether a tool may be called so: 1 to kMaxToolNameBytes of letters, digits, '_', '-' and '.'.
bool IsToolName(std::string_view name);

}  // namespace skald::server
