/// Opening a model, whatever its format.
#pragma once

#include <memory>
#include <string>

#include "formats/model_file.h"
#include "skald/status.h"

namespace skald::load {

/// A GGUF file, or the first of several; or a folder of Hugging Face. Errors: as of
/// formats::GgufModel::Open and huggingface::Folder::Open.
Result<std::shared_ptr<const formats::ModelFile>> OpenModelFile(const std::string& path);

}  // namespace skald::load
