/// Chat messages: `messages` of a chat, as transformers gives them to a template.
///
/// Texts are what they are; parts of text are put together; calls in the history have their
/// arguments as objects. A member that no template reads is left out.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include "server/fields.h"

namespace skald::server {

inline constexpr size_t kMaxMessages = 4096;
/// Calls of one message.
inline constexpr size_t kMaxCallsOfMessage = 128;
/// Of the arguments of all calls that are given as text: that is read once more.
inline constexpr size_t kMaxArgumentBytes = size_t{4} << 20;

/// True if a message, or a part of its content, is marked: a member `cache_control` that is not
/// null. Anthropic's word for where a conversation will be gone on from. O(message).
bool HasCacheMark(const boost::json::value& message);
/// Behind which of them: numbers of messages, ascending.
std::vector<size_t> MarkedMessages(const boost::json::value* messages);

/// Sets chat["messages"]. Fails for what is no conversation, and for parts that are no text.
void ReadMessages(Fields& fields, boost::json::object& chat);

/// Tells `message`, of the assistant and with its content set, what reasoning came before it.
/// `calls`: how many calls the message has.
void SetReasoning(std::string_view reasoning, size_t calls, boost::json::object& message);

/// 400: a part of this type, which a model of text cannot read.
ApiError NotText(std::string_view where, const boost::json::value& type);

/// The arguments of all calls in `chat` as JSON text: for templates that print what they get
/// (ToolArguments::kText).
void WriteArgumentsAsText(boost::json::object& chat);

}  // namespace skald::server
