/// Models that other programs have pulled: Hugging Face's cache, Ollama, llama.cpp, LM Studio.
#pragma once

#include <vector>

#include "cli/environment.h"
#include "cli/model_lookup.h"

namespace skald::cli {

/// The GGUF models in the folders of those programs, in that order, by name within each. Names are
/// what LocateModel takes: "hf://owner/name:Q4_K_M", Ollama's "llama3.2:1b", else file names
/// without ".gguf". A folder or file that cannot be read has none.
std::vector<FoundModel> ModelsOfOthers(const Environment& environment);

}  // namespace skald::cli
