/// Markup: the one door through which text gets into a document, HTML or SVG.
///
/// Text may come from a model, so from anywhere. Here it becomes characters that a browser shows:
/// no markup, no control character, nothing that turns the direction of what stands beside it.
#pragma once

#include <string>
#include <string_view>

namespace skald::figure {

/// `text` as the content of an element or of an attribute in double quotes: & < > " ' are entities,
/// bytes that are part of no character are \xHH, control characters and characters that steer the
/// direction or the place of others are U+XXXX.
std::string HtmlText(std::string_view text);

/// The same of a token: spaces become U+2423, line feeds U+240A, tabs U+2409.
std::string HtmlToken(std::string_view token);

}  // namespace skald::figure
