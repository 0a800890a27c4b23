/// StatusLine: what a long command is doing, in one line of a terminal; nothing elsewhere.
#pragma once

#include <fmt/format.h>

#include <string>

#include "cli/console.h"
#include "cli/loading.h"

namespace skald::cli {

/// The line is wiped away at the end.
class StatusLine {
 public:
  explicit StatusLine(Console& console) : console_(console) {}
  ~StatusLine() { console_.Decorate(kEraseLine); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Replaces what it said before.
  void Say(const std::string& what) { console_.Decorate(fmt::format("{}{}", kEraseLine, what)); }

 private:
  Console& console_;
};

}  // namespace skald::cli
