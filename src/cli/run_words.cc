#include "cli/run_words.h"

#include <fmt/format.h>

#include <fstream>

#include "base/status_macros.h"
#include "cli/model_lookup.h"
#include "cli/model_source.h"

namespace skald::cli {

namespace {

// What a GGUF file begins with. A text file that is taken for a model deserves a better answer than
// a parser's.
bool BeginsLikeGguf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic(4, '\0');
  return !file.read(magic.data(), 4) || magic == "GGUF";
}

Status TakeModel(const std::string& word, const Environment& environment, ModelArgs* model) {
  if (AsReference(word)) {
    model->model = word;  // here or not: it can be had
    return Ok();
  }
  const Result<std::string> path = FindModel(environment, word);
  const bool is_there = IsModelHere(environment, word);
  if (!path.ok() || !is_there) {
    const std::string problem = path.ok() ? word + ": no such file" : path.status().message();
    return Status(ErrorCode::kNotFound,
                  fmt::format("{}; if it is the prompt: -p '{}'", problem, word));
  }
  if (!BeginsLikeGguf(*path) && !word.ends_with(".gguf"))
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("{0} is a file and no model (GGUF); to read the prompt from it: -f "
                              "{0}; if it is the prompt itself: -p '{0}'",
                              word));
  model->model = word;
  return Ok();
}

}  // namespace

Status PlaceWords(const RunWords& words, const Environment& environment, ModelArgs* model,
                  TextArgs* prompt) {
  if (!words.first.has_value()) return Ok();
  const std::string& first = *words.first;
  const bool is_model = LooksLikeModel(first) || IsModelHere(environment, first);
  if (words.second.has_value()) {
    if (model->model.has_value() || !is_model)
      return Status(
          ErrorCode::kInvalidArgument,
          fmt::format(
              "unexpected argument '{}'; a text with spaces needs quotes{}", *words.second,
              model->model.has_value() ? "" : fmt::format(", and '{}' is no model", first)));
    RETURN_IF_ERROR(TakeModel(first, environment, model));
    prompt->argument = words.second;
    return Ok();
  }
  if (is_model && first != "-" && !model->model.has_value())
    return TakeModel(first, environment, model);
  prompt->argument = first;
  return Ok();
}

}  // namespace skald::cli
