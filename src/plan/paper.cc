#include "plan/paper.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "load/bind_weights.h"
#include "quantizer/type_plan.h"
#include "skald/model_shape.h"

namespace skald::plan {
namespace {

using formats::TensorDirectory;
using formats::TensorInfo;
using tensor::DType;

constexpr std::array kFloats = {DType::kF32, DType::kF16, DType::kBF16};

struct PaperTensor {
  std::string name;
  DType dtype;
  std::vector<uint64_t> dims;  // GGUF order
};

// A file that does not exist, in which the tensors lie one behind the other: so they are checked as
// those of a file are, products that overflow included.
Result<TensorDirectory> DirectoryOf(const std::vector<PaperTensor>& tensors) {
  size_t name_bytes = 0;
  for (const PaperTensor& tensor : tensors) name_bytes += tensor.name.size();
  const auto names = std::make_shared<std::byte[]>(name_bytes + 1);
  auto* next = reinterpret_cast<char*>(names.get());
  formats::TensorDirectoryBuilder builder(1, names);
  uint64_t offset = 0;
  for (const PaperTensor& tensor : tensors) {
    std::copy(tensor.name.begin(), tensor.name.end(), next);
    const tensor::DTypeInfo& type = tensor::InfoOf(tensor.dtype);
    formats::TensorClaim claim = {.name = std::string_view(next, tensor.name.size()),
                                  .type_id = type.gguf_id,
                                  .dim_count = static_cast<uint32_t>(tensor.dims.size()),
                                  .data_offset = offset};
    std::copy(tensor.dims.begin(), tensor.dims.end(), claim.dims.begin());
    // Checks the product before it is used below.
    RETURN_IF_ERROR(builder.Add(claim));
    uint64_t bytes = tensor.dims[0] / type.block_elements * type.block_bytes;
    for (size_t i = 1; i < tensor.dims.size(); ++i) bytes *= tensor.dims[i];
    offset += bytes;
    next += tensor.name.size();
  }
  return std::move(builder).Finish(0, offset);
}

DType TypeOf(const model::TensorSlot& slot, const PaperTypes& types) {
  if (slot.is_vector()) return DType::kF32;
  if (slot.slices > 1 && types.experts) return *types.experts;
  return types.matrices;
}

std::string Choices() {
  std::string text;
  for (const std::string_view name : WeightChoices()) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::vector<uint64_t> DimsOf(const TensorInfo& tensor) {
  return {tensor.dims.begin(), tensor.dims.begin() + tensor.dim_count};
}

}  // namespace

Result<TensorDirectory> PaperTensors(model::Network& network, const PaperTypes& types) {
  std::vector<PaperTensor> tensors;
  std::set<std::string> seen;  // slots may share a tensor
  for (const model::TensorSlot& slot : model::TensorsOf(network)) {
    const bool is_head = slot.name == "output.weight" && !types.is_tied;
    if ((slot.is_optional() && !is_head) || !seen.insert(slot.name).second) continue;
    tensors.push_back({slot.name, TypeOf(slot, types), load::DimsOf(slot)});
  }
  return DirectoryOf(tensors);
}

Result<TensorDirectory> NamedTensors(const std::vector<std::string>& names) {
  std::vector<PaperTensor> tensors;
  for (const std::string& name : names) tensors.push_back({name, DType::kF32, {1}});
  return DirectoryOf(tensors);
}

Result<TensorDirectory> InOtherTypes(const TensorDirectory& tensors, std::string_view weights) {
  std::vector<PaperTensor> changed;
  for (const DType dtype : kFloats) {
    if (tensor::InfoOf(dtype).name != weights) continue;
    for (const TensorInfo& tensor : tensors.all()) {
      const bool is_matrix = tensor.dim_count > 1;
      changed.push_back(
          {std::string(tensor.name), is_matrix ? dtype : DType::kF32, DimsOf(tensor)});
    }
    return DirectoryOf(changed);
  }
  for (const quantizer::Mixture& mixture : quantizer::Mixtures()) {
    if (mixture.name != weights) continue;
    for (const quantizer::PlannedTensor& planned : quantizer::PlanTypes(tensors, mixture)) {
      changed.push_back(
          {std::string(planned.source->name), planned.dtype, DimsOf(*planned.source)});
    }
    return DirectoryOf(changed);
  }
  return Status(ErrorCode::kInvalidArgument, "weights '" + std::string(weights) +
                                                 "' are no choice, expected one of " + Choices());
}

}  // namespace skald::plan

namespace skald {

std::vector<std::string_view> WeightChoices() {
  std::vector<std::string_view> names;
  for (const tensor::DType dtype : plan::kFloats) names.push_back(tensor::InfoOf(dtype).name);
  for (const quantizer::Mixture& mixture : quantizer::Mixtures()) names.push_back(mixture.name);
  return names;
}

}  // namespace skald
