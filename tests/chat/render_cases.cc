// Renders many cases in one process, for the comparison with Jinja (compare_with_jinja.py).
//
// Reads one JSON object a line from stdin: {"template": source} makes that template the current
// one, {"variables": {...}} renders it. Writes one JSON object a line to stdout: {"text": ...,
// "from_template": [[begin, end], ...]} or {"error": ...}.

#include <boost/json.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "skald/chat_template.h"

namespace {

// 2026-07-04 15:06:07: the clock of the script says the same.
constexpr std::chrono::local_seconds kNow{std::chrono::seconds{1783177567}};

boost::json::object Rendered(const skald::Result<skald::RenderedPrompt>& rendered) {
  if (!rendered.ok()) return {{"error", rendered.status().message()}};
  boost::json::array ranges;
  for (const skald::TextRange range : rendered->from_template)
    ranges.push_back(boost::json::array{range.begin, range.end});
  return {{"text", rendered->text}, {"from_template", ranges}};
}

}  // namespace

int main() {
  std::optional<skald::ChatTemplate> current;
  std::string error = "no template";
  for (std::string line; std::getline(std::cin, line);) {
    const boost::json::object command = boost::json::parse(line).as_object();
    if (const boost::json::value* source = command.if_contains("template")) {
      skald::Result<skald::ChatTemplate> made =
          skald::ChatTemplate::Create(source->as_string(), {.bos = "<bos>", .eos = "<eos>"});
      error = made.ok() ? "" : made.status().message();
      current = made.ok() ? std::optional(*std::move(made)) : std::nullopt;
      continue;
    }
    if (!current) {
      std::cout << boost::json::object{{"error", error}} << '\n';
      continue;
    }
    std::cout << Rendered(current->Render(command.at("variables").as_object(), kNow)) << '\n';
  }
  return 0;
}
