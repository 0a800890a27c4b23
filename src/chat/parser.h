/// Parser: the tokens of a template to a syntax tree, by the grammar of Jinja 3.1.
#pragma once

#include <string_view>

#include "chat/syntax_tree.h"
#include "skald/status.h"

namespace skald::chat {

/// Parses a template. Errors, with the line, what was expected and what was found: kBadModel for
/// what Jinja refuses and for a tree deeper than kMaxTreeDepth; kUnsupported for tags of Jinja that
/// no chat template uses (include, extends, block, call, with, ...) and for filters and tests that
/// do not exist, unless a condition guards them: then they fail when they are reached, as in Jinja.
Result<SyntaxTree> Parse(std::string_view source);

}  // namespace skald::chat
