/// RenderTree: one rendering of a parsed template. What ChatTemplate::Render does, with a budget of
/// the caller's, so that tests see what a rendering uses.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>

#include "chat/budget.h"
#include "chat/syntax_tree.h"
#include "skald/chat_template.h"
#include "skald/status.h"

namespace skald::chat {

struct RenderInput {
  const boost::json::object& variables;
  std::chrono::local_seconds now;
};

/// Errors: those of ChatTemplate::Render.
Result<RenderedPrompt> RenderTree(const SyntaxTree& tree, const ChatTokens& tokens,
                                  const RenderInput& input, Budget& budget);

}  // namespace skald::chat
