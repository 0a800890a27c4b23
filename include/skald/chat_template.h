/// ChatTemplate: a conversation to the text a model was trained on, and on to its tokens.
///
///     Result<ChatTemplate> chat = ChatTemplate::Create(source, {.bos = "<s>", .eos = "</s>"});
///     const char* variables = R"({"messages": [{"role": "user", "content": "Hello"}],
///                                 "add_generation_prompt": true})";
///     Result<ChatPrompt> prompt =
///         MakeChatPromptFromJson(*chat, model.tokenizer(), variables, now);
///
/// The source is the Jinja template of a model file, and a model file is untrusted: the interpreter
/// (src/chat) has no file, no network, no object of the host, and a bound on everything (below). It
/// renders what transformers renders, byte for byte: trim_blocks and lstrip_blocks are on, Python's
/// rules hold for str(), undefined, tojson (docs/chat.md lists what is there and what is not).
///
/// What a user wrote stays what a user wrote: each byte of a rendered prompt is known to come from
/// the template or from the variables, through concatenation, slices, filters and methods. Only
/// bytes of the template can become control tokens.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/tokenizer.h"
#include "skald/version.h"

// By name only: who gives variables as text needs none of Boost's headers.
namespace boost::json {
class object;
}

namespace skald {

/// The texts of the tokens that templates spell by variables: bos_token, eos_token. Empty if the
/// model has none. They count as written by the template.
struct ChatTokens {
  std::string bos;
  std::string eos;
};

/// A rendered conversation.
struct RenderedPrompt {
  std::string text;
  /// The bytes that the template itself wrote: ascending, disjoint, not adjacent. All other bytes
  /// come from the variables, or were computed from them (numbers, JSON).
  std::vector<TextRange> from_template;
};

/// A chat template, ready to render. Immutable, cheap to copy, thread-safe.
class ChatTemplate {
 public:
  /// Longest source. The largest of 65 published templates has 17 KB.
  static constexpr size_t kMaxSourceBytes = size_t{1} << 20;

  /// Parses `source`. Errors: kBadModel for a source that is no template, kUnsupported for a tag,
  /// filter or test that this version does not have; both name the line, what was expected and what
  /// was found. Cost: some 100 us for a large template.
  static Result<ChatTemplate> Create(std::string_view source, const ChatTokens& tokens);

  /// Renders with `variables`: messages, tools, add_generation_prompt, enable_thinking, ... As in
  /// transformers `tools` and `documents` are none and `add_generation_prompt` is false where the
  /// caller says nothing; bos_token and eos_token are those of Create. `now` is what the function
  /// strftime_now tells the template, in local time.
  /// Errors, with the line of the template: kInvalidArgument if the template refuses the
  /// conversation by raise_exception (the message is the template's) or the values do not suit it;
  /// kResourceExhausted if it takes more steps, memory, output or depth than allowed
  /// (src/chat/limits.h); kCancelled if `stop` said so, which is asked every 2048 steps.
  /// Deterministic but for that: the same variables give the same result or error.
  /// Cost: 1 ms for a conversation of 100 messages.
  Result<RenderedPrompt> Render(const boost::json::object& variables,
                                std::chrono::local_seconds now, StopCheck stop = {}) const;

  /// Whether the source reads a variable of this name anywhere: "tools", "enable_thinking". What a
  /// template does not read, it ignores.
  bool Reads(std::string_view variable) const;

  /// The source as given to Create.
  const std::string& source() const;

  /// What stands behind a ChatTemplate. Defined by the chat room.
  struct State;

 private:
  explicit ChatTemplate(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Most variables that a client may add to a rendering, and the longest name of one.
inline constexpr size_t kMaxExtraVariables = 32;
inline constexpr size_t kMaxVariableNameBytes = 64;

/// Adds what a client sends along for its template ("chat_template_kwargs": enable_thinking,
/// reasoning_effort, ...) to the `variables` of a rendering. What it holds is data, as every
/// variable, and its size counts for the rendering that reads it. A variable that the template does
/// not read changes nothing.
/// Errors, kInvalidArgument with the name; `variables` is unchanged then: more than
/// kMaxExtraVariables; a name that no template can read (not a letter or "_" and then letters,
/// digits and "_", or longer than kMaxVariableNameBytes); one that the conversation or the model
/// decides (messages, tools, documents, add_generation_prompt, bos_token, eos_token, loop, and the
/// names of functions); one that `variables` has already.
Status AddChatVariables(const boost::json::object& extra, boost::json::object* variables);

/// A conversation, ready for Engine::Submit.
struct ChatPrompt {
  std::string text;             ///< as rendered
  std::vector<TokenId> tokens;  ///< control tokens only where the template wrote them
  size_t template_tail = 0;     ///< bytes at the end of the text that the template itself wrote
};

/// Renders a conversation and encodes it: the one way from messages to prompt tokens, for the
/// server and the command. A BOS that the tokenizer adds is added unless the template wrote it
/// itself. Errors: those of Render and Tokenizer::Encode.
Result<ChatPrompt> MakeChatPrompt(const ChatTemplate& chat, const Tokenizer& tokenizer,
                                  const boost::json::object& variables,
                                  std::chrono::local_seconds now, StopCheck stop = {});

/// The same with the variables as a JSON object. Errors: also kInvalidArgument for a text that is
/// none, with the place.
Result<ChatPrompt> MakeChatPromptFromJson(const ChatTemplate& chat, const Tokenizer& tokenizer,
                                          std::string_view variables,
                                          std::chrono::local_seconds now, StopCheck stop = {});

}  // namespace skald
