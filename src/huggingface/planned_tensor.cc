#include "huggingface/planned_tensor.h"

#include <fmt/format.h>

#include "formats/quote.h"

namespace skald::huggingface {

Status TensorError(std::string_view name, std::string_view problem, ErrorCode code) {
  return Status(code, fmt::format("tensor {}: {}", formats::Quote(name), problem));
}

}  // namespace skald::huggingface
