/// Template variables: `chat_template_kwargs`, what a chat tells its template beside the messages.
///
/// Templates have switches of their own (`enable_thinking`, `thinking_budget`, ...), and clients of
/// vLLM and llama.cpp set them by this field. Which names may be said is the template's matter
/// (AddChatVariables); here they are bounded.
#pragma once

#include <boost/json/object.hpp>

#include "server/fields.h"

namespace skald::server {

/// Bounds of chat_template_kwargs: a hundred times what published templates take.
inline constexpr size_t kMaxTemplateValues = 1024;  ///< members and elements, at all depths
inline constexpr size_t kMaxTemplateDepth = 8;
inline constexpr size_t kMaxTemplateBytes = size_t{64} << 10;  ///< of names and strings together

/// The field's object, or an empty one. Fails for what is no object, and beyond the bounds.
boost::json::object ReadTemplateVariables(Fields& fields);

}  // namespace skald::server
