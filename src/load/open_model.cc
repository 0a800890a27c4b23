#include "load/open_model.h"

#include <utility>

#include "base/status_macros.h"
#include "formats/gguf.h"
#include "huggingface/folder.h"

namespace skald::load {

Result<std::shared_ptr<const formats::ModelFile>> OpenModelFile(const std::string& path) {
  if (huggingface::Folder::IsFolder(path)) {
    ASSIGN_OR_RETURN(huggingface::Folder folder, huggingface::Folder::Open(path));
    return std::shared_ptr<const formats::ModelFile>(
        std::make_shared<huggingface::Folder>(std::move(folder)));
  }
  ASSIGN_OR_RETURN(formats::GgufModel file, formats::GgufModel::Open(path));
  return std::shared_ptr<const formats::ModelFile>(
      std::make_shared<formats::GgufModel>(std::move(file)));
}

}  // namespace skald::load
