#include "quantizer/quantize_model.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/finite.h"
#include "quantizer/gguf_header.h"
#include "quantizer/quantize_row.h"
#include "quantizer/type_plan.h"

namespace skald {
namespace quantizer {
namespace {

using formats::TensorInfo;

// Elements of a unit of work, a multiple of every block; and units between two reads: 2 Mi
// elements, some 10 MiB with what comes out.
constexpr uint64_t kUnitElements = 4096;
constexpr uint64_t kBatchUnits = 512;

// One run of QuantizeFile.
class Run {
 public:
  Run(const formats::GgufModel& file, const QuantizeOptions& options, const ByteSink& sink)
      : file_(file),
        options_(options),
        sink_(sink),
        pool_(options.threads > 0 ? options.threads : AvailableCores()) {
    scratch_.resize(static_cast<size_t>(pool_.thread_count()));
    for (const TensorInfo& tensor : file.tensors().all()) {
      report_.source_bytes += static_cast<int64_t>(tensor.byte_count);
    }
  }

  Result<QuantizeReport> Write(const GgufHeader& header, std::span<const PlannedTensor> plan) {
    RETURN_IF_ERROR(Put(header.bytes));
    for (size_t i = 0; i < plan.size(); ++i) {
      RETURN_IF_ERROR(WriteTensor(plan[i]));
      const bool is_copied = plan[i].dtype == plan[i].source->dtype;
      (is_copied ? report_.copied : report_.quantized) += 1;
      report_.widened += plan[i].widened ? 1 : 0;
      RETURN_IF_ERROR(Put(std::vector<std::byte>(header.padding[i])));
    }
    return report_;
  }

 private:
  Status Put(std::span<const std::byte> bytes) {
    report_.bytes += static_cast<int64_t>(bytes.size());
    return sink_(bytes);
  }

  // Blocks never cross rows, and rows stand one behind the other: a tensor is one long row.
  Status WriteTensor(const PlannedTensor& tensor) {
    const tensor::DTypeInfo& from = tensor::InfoOf(tensor.source->dtype);
    const uint64_t elements = tensor.source->columns() * tensor.source->rows();
    for (uint64_t first = 0; first < elements; first += kBatchUnits * kUnitElements) {
      if (options_.should_stop()) return Status(ErrorCode::kCancelled, "interrupted");
      const uint64_t count = std::min(kBatchUnits * kUnitElements, elements - first);
      in_.resize(count / from.block_elements * from.block_bytes);
      RETURN_IF_ERROR(
          file_.ReadTensor(*tensor.source, first / from.block_elements * from.block_bytes, in_));
      if (!kernels::AllFinite(tensor.source->dtype, in_)) {
        return Status(ErrorCode::kBadModel,
                      "tensor '" + std::string(tensor.source->name) + "' holds NaN or infinity");
      }
      if (tensor.dtype == tensor.source->dtype) {
        RETURN_IF_ERROR(Put(in_));
      } else {
        QuantizeBatch(tensor, count);
        RETURN_IF_ERROR(Put(out_));
      }
      done_bytes_ += static_cast<int64_t>(in_.size());
      if (options_.progress) options_.progress(done_bytes_, report_.source_bytes);
    }
    return Ok();
  }

  // in_ to out_.
  void QuantizeBatch(const PlannedTensor& tensor, uint64_t count) {
    const tensor::DTypeInfo& from = tensor::InfoOf(tensor.source->dtype);
    const tensor::DTypeInfo& to = tensor::InfoOf(tensor.dtype);
    out_.resize(count / to.block_elements * to.block_bytes);
    pool_.Run(DivCeil(static_cast<int64_t>(count), int64_t{kUnitElements}), [&](int64_t unit,
                                                                                int worker) {
      const uint64_t first = static_cast<uint64_t>(unit) * kUnitElements;
      const uint64_t n = std::min(kUnitElements, count - first);
      std::vector<float>& values = scratch_[static_cast<size_t>(worker)];
      values.resize(n);
      const auto source = std::span(in_).subspan(first / from.block_elements * from.block_bytes,
                                                 n / from.block_elements * from.block_bytes);
      kernels::DequantizeRow(from.dtype, source, static_cast<int64_t>(n), values.data());
      QuantizeRow(to.dtype, values,
                  std::span(out_).subspan(first / to.block_elements * to.block_bytes,
                                          n / to.block_elements * to.block_bytes));
    });
  }

  const formats::GgufModel& file_;
  const QuantizeOptions& options_;
  const ByteSink& sink_;
  ThreadPool pool_;
  QuantizeReport report_;
  int64_t done_bytes_ = 0;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  std::vector<std::vector<float>> scratch_;
};

// Names of types are written in capitals here, and by many people without.
bool IsNamed(std::string_view name, std::string_view asked) {
  const auto capital = [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  };
  return std::ranges::equal(name, asked, {}, {}, capital);
}

Result<Mixture> MixtureOf(const std::string& type) {
  std::string known;
  for (const Mixture& mixture : Mixtures()) {
    if (IsNamed(mixture.name, type)) return mixture;
    known += (known.empty() ? "" : ", ") + std::string(mixture.name);
  }
  return Status(ErrorCode::kInvalidArgument,
                "'" + type + "' is no type to quantize to; there are " + known);
}

Status CheckSources(std::span<const PlannedTensor> plan) {
  for (const PlannedTensor& tensor : plan) {
    const tensor::DTypeInfo& from = tensor::InfoOf(tensor.source->dtype);
    if (from.block_elements == 1 || from.dtype == tensor.dtype) continue;
    return Status(ErrorCode::kInvalidArgument,
                  "tensor '" + std::string(tensor.source->name) + "' is " + std::string(from.name) +
                      " already, and its error would add to the new one; start from a file in F16, "
                      "BF16 or F32, or allow it (--allow-requantize)");
  }
  return Ok();
}

}  // namespace

Result<QuantizeReport> QuantizeFile(const formats::GgufModel& file, const QuantizeOptions& options,
                                    const ByteSink& sink) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return Status(ErrorCode::kInvalidArgument, "threads is " + std::to_string(options.threads) +
                                                   ", the range is 0 to " +
                                                   std::to_string(ThreadPool::kMaxThreads));
  }
  ASSIGN_OR_RETURN(const Mixture mixture, MixtureOf(options.type));
  const std::vector<PlannedTensor> plan = PlanTypes(file.tensors(), mixture);
  if (!options.allow_requantize) RETURN_IF_ERROR(CheckSources(plan));
  ASSIGN_OR_RETURN(const GgufHeader header,
                   MakeHeader(file.metadata(), file.alignment(), mixture.file_type, plan));
  return Run(file, options, sink).Write(header, plan);
}

}  // namespace quantizer

std::span<const std::string_view> QuantizeTypes() {
  static constexpr std::string_view kTypes[] = {"Q8_0", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K"};
  return kTypes;
}

Result<QuantizeReport> QuantizeModel(const std::string& path, const QuantizeOptions& options,
                                     const ByteSink& sink) {
  ASSIGN_OR_RETURN(const formats::GgufModel file, formats::GgufModel::Open(path));
  return quantizer::QuantizeFile(file, options, sink);
}

}  // namespace skald
