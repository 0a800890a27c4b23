/// Cases of the shared folder structured, for tests: one JSON object a line.
#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "skald/grammar.h"
#include "support/shared_data.h"

namespace skald::grammar {

inline std::vector<boost::json::object> SharedCases(std::string_view file) {
  std::ifstream in(support::SharedData("structured/" + std::string(file)));
  std::vector<boost::json::object> cases;
  for (std::string line; std::getline(in, line);)
    cases.push_back(boost::json::parse(line).as_object());
  return cases;
}

inline std::string TextOf(const boost::json::value& value) {
  return std::string(value.as_string().data(), value.as_string().size());
}

/// A text in pairs [text, count], where %d is the number of the repetition and %+ one more.
inline std::string Joined(const boost::json::array& parts) {
  std::string joined;
  for (const boost::json::value& part : parts) {
    const std::string unit = TextOf(part.as_array()[0]);
    for (int64_t i = 0; i < part.as_array()[1].as_int64(); ++i) {
      for (size_t at = 0; at < unit.size(); ++at) {
        const bool is_number =
            unit[at] == '%' && at + 1 < unit.size() && (unit[at + 1] == 'd' || unit[at + 1] == '+');
        if (!is_number) {
          joined += unit[at];
          continue;
        }
        ++at;
        joined += std::to_string(unit[at] == '+' ? i + 1 : i);
      }
    }
  }
  return joined;
}

/// What a check of `text` comes to in words: "accepted", "viable 3 of 5", "too complex".
inline std::string Outcome(const Grammar& grammar, std::string_view text) {
  const GrammarCheck check = CheckText(grammar, text);
  if (check.verdict == GrammarVerdict::kAccepted) return "accepted";
  if (check.verdict == GrammarVerdict::kTooComplex) return "too complex";
  return "viable " + std::to_string(check.good_bytes) + " of " + std::to_string(text.size());
}

}  // namespace skald::grammar
