/// Html: pieces of an HTML document, and the one door through which text gets into it.
///
/// Text may come from a model, so from anywhere. Here it becomes characters that a browser shows:
/// no markup, no control character, nothing that turns the direction of what stands beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skald::explain {

/// `text` as the content of an element or of an attribute in double quotes: & < > " ' are entities,
/// bytes that are part of no character are \xHH, control characters and characters that steer the
/// direction or the place of others are U+XXXX.
std::string HtmlText(std::string_view text);

/// The same of a token: spaces become U+2423, line feeds U+240A, tabs U+2409.
std::string HtmlToken(std::string_view token);

/// JSON for the inside of a script element: no < stands in it, so that nothing in it ends it.
std::string HtmlJson(std::string_view json);

/// A table for people who read figures as numbers: `head` and `rows` are text, made safe here. It
/// can be scrolled by keyboard where it is wider than the page.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string TableOf(const HtmlTable& table);

/// A table that is shown when somebody asks for it.
std::string DataOf(const HtmlTable& table);

}  // namespace skald::explain
