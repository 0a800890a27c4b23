/// The bare words of `skald run [MODEL] [PROMPT]`: which of them is what.
#pragma once

#include <optional>
#include <string>

#include "cli/environment.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// The words that stand behind `skald run` without a flag.
struct RunWords {
  std::optional<std::string> first = {};
  std::optional<std::string> second = {};
};

/// Puts the words into `model` and `prompt`, which hold what the flags said. Of two words the first
/// is the model. One word is the model if it is one that is there (IsModelHere) or is spelled like
/// one (LooksLikeModel), unless -m named another; else it is the prompt.
/// Errors: kNotFound for a word that is spelled like a model and is none, with what to type;
/// kInvalidArgument for a file that is no model, two words without a model, and a text beside -p or
/// -f.
Status PlaceWords(const RunWords& words, const Environment& environment, ModelArgs* model,
                  TextArgs* prompt);

}  // namespace skald::cli
