/// Where models are: turns what stands after -m into the path of a file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "skald/status.h"

namespace skald::cli {

/// The model that is used when the user names none.
inline constexpr std::string_view kBundledModel = "tales";

/// What a model that is not on this machine begins with.
inline constexpr std::array<std::string_view, 6> kModelSources = {
    "hf://", "hf.co/", "huggingface.co/", "https://", "http://", "ollama://"};

/// One model file in a search directory.
struct FoundModel {
  std::string name = {};  ///< what to type after -m: the file name without ".gguf"
  std::string path = {};
  int64_t file_bytes = 0;   ///< of this file; of a split model, the first part
  std::string origin = {};  ///< the program that put it there; empty: skald, or the user
};

/// Whether a file of that name is a model that -m takes: it ends in ".gguf", is not a later part of
/// a split model, and holds no other kind of weights (mmproj).
bool IsModelFileName(const std::string& name);

/// The user's own directory of models, XDG_DATA_HOME/skald/models or ~/.local/share/skald/models;
/// empty where there is no home. It need not exist.
std::string UserModelDirectory(const Environment& environment);

/// The directories that are searched, first match first: those of SKALD_MODELS; the user's
/// (XDG_DATA_HOME/skald/models, by default ~/.local/share/skald/models); those shipped with the
/// program (../share/skald/models beside it, or models/tales of the source tree it was built in).
/// They need not exist.
std::vector<std::string> ModelDirectories(const Environment& environment);

/// The ".gguf" files in those directories, in that order, by name within each. Of a split model
/// only the first part; of files with equal names only the first, which is the one -m finds.
std::vector<FoundModel> FindModels(const Environment& environment);

/// The file, or the folder of Hugging Face, that `name` means: itself if it has a slash or is one
/// here, else NAME.gguf or NAME
/// in the first search directory that has one, else a model of another program that is called so
/// (other_models.h). A path is not looked at: opening it says what is
/// wrong with it. Errors: kNotFound with the models there are; kInvalidArgument for "".
Result<std::string> FindModel(const Environment& environment, const std::string& name);

/// Whether `word` is spelled as models are, so that hardly anybody means it as a prompt: a path, a
/// name that ends in .gguf, "name:tag" or "owner/name" with a figure in it, an address, or a family
/// of models with a version ("llama3.2"). What is there plays no role.
bool LooksLikeModel(std::string_view word);

/// Whether `word` is a model that is there: a regular file, a folder with a config.json, or a name
/// that FindModel finds.
bool IsModelHere(const Environment& environment, const std::string& word);

}  // namespace skald::cli
