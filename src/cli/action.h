/// Action: what a verb does after its flags were parsed.
#pragma once

#include <functional>
#include <memory>

#include "cli/cli11_forward.h"
#include "cli/console.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "skald/status.h"

namespace skald::cli {

using Action = std::function<Status(const Environment& environment, Console& console)>;

/// Parsing `verb` makes `chosen` a call of `run` with what `options` then holds: the struct that
/// the verb's flags were bound to.
template <typename Options>
void ChooseWhenParsed(CLI::App& verb, std::shared_ptr<Options> options,
                      Status (*run)(const Options&, const Environment&, Console&), Action* chosen) {
  OnParsed(verb, [options, run, chosen] {
    *chosen = [parsed = *options, run](const Environment& environment, Console& console) {
      return run(parsed, environment, console);
    };
  });
}

}  // namespace skald::cli
