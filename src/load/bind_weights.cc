#include "load/bind_weights.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/finite.h"

namespace skald::load {
namespace {

using formats::TensorInfo;
using model::TensorSlot;

// File bytes that one unit of packing reads: large enough that the system call costs nothing
// beside the copy, small enough that they are still in L2 (1 MiB and more) when they are packed.
constexpr uint64_t kReadBytes = 256 << 10;

bool IsFloat(tensor::DType dtype) { return tensor::InfoOf(dtype).block_elements == 1; }

// What the tensor of a slot must be, in the order of the file: all of it, where it is shared.
struct TensorShape {
  uint64_t columns;
  uint64_t rows;  // of each slice
  uint64_t slices;
};

TensorShape ShapeOf(const TensorSlot& slot) {
  int64_t columns = slot.cols;
  int64_t rows = slot.rows;
  if (slot.is_stored_by_columns()) std::swap(columns, rows);
  const bool of_columns = slot.is_vector() && slot.vector_cut == model::VectorCut::kElements;
  if (slot.all_rows > 0) (of_columns ? columns : rows) = slot.all_rows;
  int64_t slices = slot.all_slices > 0 ? slot.all_slices : slot.slices;
  if (slot.stacked) rows *= std::exchange(slices, 1);
  return {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows),
          static_cast<uint64_t>(slices)};
}

Status CheckTensor(const TensorSlot& slot, const TensorInfo& tensor) {
  const TensorShape shape = ShapeOf(slot);
  const bool fits = tensor.columns() == shape.columns &&
                    tensor.rows() == shape.rows * shape.slices &&
                    (shape.slices == 1 || tensor.dims[1] == shape.rows);
  const std::string name = "tensor '" + std::string(tensor.name) + "'";
  if (!fits) {
    std::string expected = std::to_string(shape.columns);
    if (!slot.is_vector() || slot.rows > 1) expected += " x " + std::to_string(shape.rows);
    if (shape.slices > 1) expected += " x " + std::to_string(shape.slices);
    return Status(ErrorCode::kBadModel,
                  name + " has shape " + ShapeText(tensor) + ", expected " + expected);
  }
  if (slot.is_vector() && !IsFloat(tensor.dtype)) {
    return Status(ErrorCode::kBadModel, name + " has type " +
                                            std::string(tensor::InfoOf(tensor.dtype).name) +
                                            ", expected F32, F16 or BF16");
  }
  return Ok();
}

// The tensor "X<ending>" that belongs to "X.weight", or nullptr.
const TensorInfo* Beside(const TensorInfo& weight, std::string_view ending,
                         const formats::TensorDirectory& tensors) {
  constexpr std::string_view kWeight = ".weight";
  std::string_view stem = weight.name;
  if (!stem.ends_with(kWeight)) return nullptr;
  stem.remove_suffix(kWeight.size());
  return tensors.Find(std::string(stem) + std::string(ending));
}

// Finds and checks the factors of a matrix, a number for each of its slices.
Result<const TensorInfo*> FindFactors(const TensorSlot& slot, const TensorInfo& tensor,
                                      const formats::TensorDirectory& tensors) {
  if (tensor.dtype != tensor::DType::kNVFP4) return nullptr;
  const TensorInfo* factors = Beside(tensor, ".scale", tensors);
  if (factors == nullptr) return nullptr;
  const auto slices = static_cast<uint64_t>(slot.all_slices > 0 ? slot.all_slices : slot.slices);
  if (factors->columns() != slices || factors->rows() != 1 ||
      factors->dtype != tensor::DType::kF32) {
    return Status(ErrorCode::kBadModel,
                  "tensor '" + std::string(factors->name) + "' has shape " + ShapeText(*factors) +
                      " and type " + std::string(tensor::InfoOf(factors->dtype).name) +
                      ", expected " + std::to_string(slices) + " of F32: the factors of '" +
                      std::string(tensor.name) + "'");
  }
  return factors;
}

// "a, b, c and 7 more": enough to see what is wrong with the file.
std::string ListNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    if (i > 0) text += ", ";
    text += "'" + names[i] + "'";
  }
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

// Whether a tensor belongs to the layers that only predict further tokens.
bool OfPredictionLayer(const model::Network& network, std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return false;
  int64_t layer = 0;
  const auto [end, error] =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  const auto first = static_cast<int64_t>(network.layers.size());
  return error == std::errc() &&
         name.substr(static_cast<size_t>(end - name.data())).starts_with('.') && layer >= first &&
         layer < first + network.prediction_layers;
}

// Whether a tensor is of keys or values of a layer that reads those of another: some files have
// them all the same.
bool OfSharingLayer(const model::Network& network, std::string_view name) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const auto* gqa = std::get_if<model::Gqa>(&network.layers[i].mixer);
    if (gqa == nullptr || !gqa->shared_kv) continue;
    const std::string block = "blk." + std::to_string(i) + ".";
    for (const char* tensor : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}) {
      if (name == block + tensor) return true;
    }
  }
  return false;
}

// Whether a tensor picks positions in a context that is no longer than what it picks.
bool OfIndexer(const model::Network& network, std::string_view name) {
  return network.picked_positions > 0 && name.find(".indexer.") != std::string_view::npos;
}

// A tensor left out would change the answers in silence.
Status CheckAllUsed(const model::Network& network, const formats::TensorDirectory& tensors,
                    const std::vector<Binding>& bindings) {
  std::set<const TensorInfo*> used;
  for (const Binding& binding : bindings) {
    used.insert({binding.tensor, binding.factors});
    if (binding.tensor->dtype != tensor::DType::kNVFP4) continue;
    used.insert(Beside(*binding.tensor, ".input_scale", tensors));
  }
  std::vector<std::string> unused;
  for (const TensorInfo& tensor : tensors.all()) {
    if (used.contains(&tensor) || OfPredictionLayer(network, tensor.name)) continue;
    if (OfSharingLayer(network, tensor.name) || OfIndexer(network, tensor.name)) continue;
    unused.emplace_back(tensor.name);
  }
  if (unused.empty()) return Ok();
  return Status(ErrorCode::kUnsupported,
                "the file has tensors that this version does not use: " + ListNames(unused));
}

// Tensors by their place in the directory, which is their order in the file.
using TensorSet = std::set<const TensorInfo*>;

// Reads a tensor of a float type as floats.
Result<std::vector<float>> ReadFloats(const formats::ModelFile& file, const TensorInfo& tensor,
                                      TensorSet* not_finite) {
  std::vector<std::byte> bytes(tensor.byte_count);
  RETURN_IF_ERROR(file.ReadTensor(tensor, 0, bytes));
  if (!kernels::AllFinite(tensor.dtype, bytes)) not_finite->insert(&tensor);
  // Rows of floats lie one behind the other, and so may be read as one.
  std::vector<float> values(tensor.columns() * tensor.rows());
  kernels::DequantizeRow(tensor.dtype, bytes, static_cast<int64_t>(values.size()), values.data());
  return values;
}

// The rows of a slot, counted in its tensor.
std::vector<model::RowRun> RunsOf(const TensorSlot& slot, int64_t rows) {
  if (!slot.runs.empty()) return slot.runs;
  return {{slot.first_row, rows}};
}

// Reads a vector, or a part of one; of a table some rows, or a part of each.
Result<std::vector<float>> ReadVector(const formats::ModelFile& file, const Binding& binding,
                                      TensorSet* not_finite) {
  ASSIGN_OR_RETURN(const std::vector<float> values, ReadFloats(file, *binding.tensor, not_finite));
  const TensorSlot& slot = binding.slot;
  std::vector<float> parts;
  parts.reserve(static_cast<size_t>(slot.rows * slot.cols));
  const auto append = [&](int64_t first, int64_t count) {
    const auto from = values.begin() + first;
    parts.insert(parts.end(), from, from + count);
  };
  if (slot.vector_cut == model::VectorCut::kRows) {
    for (const auto& [first, count] : RunsOf(slot, slot.rows)) {
      append(first * slot.cols, count * slot.cols);
    }
    return parts;
  }
  const int64_t length = slot.all_rows > 0 ? slot.all_rows : slot.cols;
  for (int64_t row = 0; row < slot.rows; ++row) {
    for (const auto& [first, count] : RunsOf(slot, slot.cols)) append(row * length + first, count);
  }
  return parts;
}

// One matrix on its way into panels: a tensor, or a slice of one.
struct PackJob {
  const TensorInfo* tensor;
  int64_t first_row;                    // of the slice, or the part, in the tensor
  std::span<const model::RowRun> runs;  // its rows in the tensor, where they do not stand together
  kernels::PackedMatrix matrix;
  std::byte* panels;
  int64_t panels_per_unit = 1;
  int64_t first_unit = 0;
  model::Storing storing = model::Storing::kRows;
};

// What one thread has of its own.
struct Worker {
  std::vector<std::byte> buffer;
  Status error;  // the first it met
  TensorSet not_finite;
};

// Everything the units of one packing loop share.
struct PackLoop {
  const formats::ModelFile& file;
  PageCache page_cache;
  std::vector<PackJob> jobs = {};
  int64_t unit_count = 0;
  int64_t total_bytes = 0;
  std::atomic<int64_t> done_bytes{0};
};

// Calls read(row of the tensor, rows) for each run that rows of a job, `first` and on, stand in.
template <typename Read>
Status ForEachRun(const PackJob& job, int64_t first, int64_t rows, Read read) {
  if (job.runs.empty()) return read(job.first_row + first, rows);
  for (const model::RowRun& run : job.runs) {
    const int64_t count = std::min(run.count - first, rows);
    if (count > 0) {
      RETURN_IF_ERROR(read(run.first + first, count));
      rows -= count;
    }
    first = std::max<int64_t>(0, first - run.count);
  }
  return Ok();
}

// Reads rows of a tensor, `first_row` and on, into the worker's buffer.
Result<std::span<const std::byte>> ReadRows(const PackJob& job, int64_t first_row, int64_t rows,
                                            PackLoop* loop, Worker* worker) {
  const TensorInfo& tensor = *job.tensor;
  const auto row_bytes = static_cast<int64_t>(tensor.row_bytes());
  const auto bytes = static_cast<size_t>(rows * row_bytes);
  if (worker->buffer.size() < bytes) worker->buffer.resize(bytes);
  const std::span<std::byte> source(worker->buffer.data(), bytes);
  auto left = source;
  Status status = ForEachRun(job, first_row, rows, [&](int64_t first, int64_t count) {
    const auto begin = static_cast<uint64_t>(first * row_bytes);
    const auto part = left.first(static_cast<size_t>(count * row_bytes));
    left = left.subspan(part.size());
    RETURN_IF_ERROR(loop->file.ReadTensor(tensor, begin, part));
    if (loop->page_cache == PageCache::kDrop) loop->file.DropTensor(tensor, begin, part.size());
    return Ok();
  });
  RETURN_IF_ERROR(std::move(status));
  if (!kernels::AllFinite(tensor.dtype, source)) worker->not_finite.insert(&tensor);
  loop->done_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return std::span<const std::byte>(source);
}

// A matrix that the file holds by columns: all of it, some columns at a time.
Status PackColumns(const PackJob& job, PackLoop* loop, Worker* worker) {
  const auto row_bytes = static_cast<int64_t>(job.tensor->row_bytes());
  const int64_t at_once = std::max<int64_t>(1, static_cast<int64_t>(kReadBytes) / row_bytes);
  for (int64_t first = 0; first < job.matrix.cols; first += at_once) {
    const int64_t count = std::min(at_once, job.matrix.cols - first);
    ASSIGN_OR_RETURN(const auto source, ReadRows(job, first, count, loop, worker));
    for (int64_t i = 0; i < count; ++i) {
      const auto column =
          source.subspan(static_cast<size_t>(i * row_bytes), static_cast<size_t>(row_bytes));
      kernels::PackColumn(job.tensor->dtype, column, job.matrix, first + i, job.panels);
    }
  }
  return Ok();
}

Status PackUnit(const PackJob& job, int64_t first_panel, PackLoop* loop, Worker* worker) {
  if (job.storing == model::Storing::kColumns) return PackColumns(job, loop, worker);
  const int64_t rows = job.matrix.rows;
  const int64_t first_row = first_panel * kernels::kPanelRows;
  const int64_t end_row = std::min(rows, first_row + job.panels_per_unit * kernels::kPanelRows);
  const auto row_bytes = static_cast<int64_t>(job.tensor->row_bytes());
  ASSIGN_OR_RETURN(const auto source, ReadRows(job, first_row, end_row - first_row, loop, worker));
  for (int64_t row = first_row; row < end_row; row += kernels::kPanelRows) {
    const int64_t count = std::min<int64_t>(kernels::kPanelRows, end_row - row);
    const auto offset = static_cast<size_t>((row - first_row) * row_bytes);
    kernels::PackPanel(job.tensor->dtype,
                       source.subspan(offset, static_cast<size_t>(count * row_bytes)),
                       static_cast<int>(count), job.matrix.cols,
                       job.panels + row / kernels::kPanelRows * job.matrix.panel_bytes());
  }
  return Ok();
}

const PackJob& JobOf(const PackLoop& loop, int64_t unit) {
  const auto after =
      std::upper_bound(loop.jobs.begin(), loop.jobs.end(), unit,
                       [](int64_t value, const PackJob& job) { return value < job.first_unit; });
  return *(after - 1);
}

Status RunPacking(const PackOptions& options, PackLoop* loop, TensorSet* not_finite) {
  std::vector<Worker> workers(static_cast<size_t>(options.pool.thread_count()));
  options.pool.Run(loop->unit_count, [&](int64_t unit, int index) {
    Worker& worker = workers[static_cast<size_t>(index)];
    if (!worker.error.ok()) return;
    const PackJob& job = JobOf(*loop, unit);
    worker.error = PackUnit(job, (unit - job.first_unit) * job.panels_per_unit, loop, &worker);
    if (index == 0 && options.progress) options.progress(loop->done_bytes, loop->total_bytes);
  });
  for (Worker& worker : workers) {
    RETURN_IF_ERROR(std::move(worker.error));
    not_finite->merge(worker.not_finite);
  }
  return Ok();
}

kernels::PackedMatrix Describe(const Binding& binding) {
  const tensor::DType dtype = binding.tensor->dtype;
  return {.type = binding.slot.is_stored_by_columns() ? kernels::TransposedPanelTypeFor(dtype)
                                                      : kernels::PanelTypeFor(dtype),
          .rows = binding.slot.rows,
          .cols = binding.slot.cols};
}

int64_t MatrixBytes(const kernels::PackedMatrix& matrix) {
  return RoundUp<int64_t>(matrix.panel_count() * matrix.panel_bytes(), 64);
}

// Puts the matrices of a binding, with their factors if there are any, to `next` and notes the work
// of filling them. Returns what follows them.
std::byte* AddJobs(const Binding& binding, std::span<const float> factors, std::byte* next,
                   PackLoop* loop) {
  const TensorInfo& tensor = *binding.tensor;
  const int64_t stored_rows =
      binding.slot.is_stored_by_columns() ? binding.slot.cols : binding.slot.rows;
  const int64_t slice_rows = std::max(stored_rows, binding.slot.all_rows);
  PackJob job{.tensor = &tensor,
              .first_row = binding.slot.first_slice * slice_rows + binding.slot.first_row,
              .runs = binding.slot.runs,
              .matrix = Describe(binding),
              .panels = next,
              .storing = binding.slot.storing};
  const uint64_t panel_file_bytes = tensor.row_bytes() * kernels::kPanelRows;
  job.panels_per_unit = static_cast<int64_t>(std::max<uint64_t>(1, kReadBytes / panel_file_bytes));
  if (binding.slot.is_stored_by_columns()) job.panels_per_unit = job.matrix.panel_count();
  for (kernels::PackedMatrix& place : binding.slot.matrices()) {
    job.first_unit = loop->unit_count;
    job.matrix.panels = job.panels;
    if (!factors.empty()) {
      job.matrix.factor = factors.front();
      factors = factors.subspan(1);
    }
    place = job.matrix;
    loop->unit_count += DivCeil(job.matrix.panel_count(), job.panels_per_unit);
    loop->jobs.push_back(job);
    job.panels += MatrixBytes(job.matrix);
    job.first_row += slice_rows;  // the next slice, of which other slots may take other rows
    loop->total_bytes += stored_rows * static_cast<int64_t>(tensor.row_bytes());
  }
  return job.panels;
}

// Rows of a tensor as they lie in the file.
class FileRows final : public model::RowReader {
 public:
  FileRows(std::shared_ptr<const formats::ModelFile> file, const TensorInfo& tensor)
      : file_(std::move(file)), tensor_(tensor) {}

  int64_t row_bytes() const override { return static_cast<int64_t>(tensor_.row_bytes()); }
  void Read(int64_t row, std::span<std::byte> scratch, float* out) const override {
    const auto cols = static_cast<int64_t>(tensor_.columns());
    const auto begin = static_cast<uint64_t>(row) * tensor_.row_bytes();
    if (file_->ReadTensor(tensor_, begin, scratch).ok()) {
      kernels::DequantizeRow(tensor_.dtype, scratch, cols, out);
    } else {
      std::fill_n(out, cols, std::numeric_limits<float>::quiet_NaN());
    }
  }

 private:
  std::shared_ptr<const formats::ModelFile> file_;
  const TensorInfo& tensor_;  // of the file's directory
};

}  // namespace

std::string ShapeText(const TensorInfo& tensor) {
  std::string text = std::to_string(tensor.dims[0]);
  for (int i = 1; i < tensor.dim_count; ++i) {
    text += " x " + std::to_string(tensor.dims[static_cast<size_t>(i)]);
  }
  return text;
}

std::vector<uint64_t> DimsOf(const TensorSlot& slot) {
  const TensorShape shape = ShapeOf(slot);
  std::vector<uint64_t> dims = {shape.columns};
  if (!slot.is_vector() || shape.rows > 1) dims.push_back(shape.rows);
  if (shape.slices > 1) dims.push_back(shape.slices);
  return dims;
}

Status DescribeMatrices(const std::vector<Binding>& bindings, model::Network* network) {
  constexpr int64_t kMostMatrices = int64_t{1} << 20;  // Kimi K2 has 70,000
  int64_t matrices = 0;
  for (const Binding& binding : bindings) matrices += binding.slot.slices;
  if (matrices > kMostMatrices) {
    return Status(ErrorCode::kUnsupported, "the network has " + std::to_string(matrices) +
                                               " matrices, expected at most " +
                                               std::to_string(kMostMatrices));
  }
  for (const Binding& binding : bindings) {
    if (binding.slot.is_vector() || binding.home == Home::kFile) continue;
    for (kernels::PackedMatrix& place : binding.slot.matrices()) place = Describe(binding);
  }
  // As Transformer does.
  if (network->head.weights.rows == 0) {
    network->head.weights = network->embedding;
    network->head.weights.rows = model::PartOf(network->head.rows, network->vocab).rows;
  }
  return Ok();
}

Result<std::vector<Binding>> BindTensors(model::Network& network,
                                         const formats::TensorDirectory& tensors,
                                         int64_t max_table_bytes) {
  std::vector<Binding> bindings;
  std::vector<std::string> missing;
  for (const TensorSlot& slot : model::TensorsOf(network)) {
    const TensorInfo* tensor = tensors.Find(slot.name);
    if (tensor == nullptr) {
      if (!slot.is_optional()) missing.push_back(slot.name);
      continue;
    }
    RETURN_IF_ERROR(CheckTensor(slot, *tensor));
    ASSIGN_OR_RETURN(const TensorInfo* const factors, FindFactors(slot, *tensor, tensors));
    const bool stays = slot.row_table() != nullptr && factors == nullptr &&
                       tensor->byte_count > static_cast<uint64_t>(max_table_bytes);
    bindings.push_back({slot, tensor, factors, stays ? Home::kFile : Home::kMemory});
  }
  if (!missing.empty()) {
    return Status(ErrorCode::kBadModel, "architecture '" + std::string(network.family) + "' with " +
                                            std::to_string(network.layers.size()) +
                                            " layers lacks " + std::to_string(missing.size()) +
                                            " tensors: " + ListNames(missing));
  }
  RETURN_IF_ERROR(CheckAllUsed(network, tensors, bindings));
  return bindings;
}

int64_t PackedBytes(const std::vector<Binding>& bindings) {
  int64_t bytes = 0;
  for (const Binding& binding : bindings) {
    if (binding.slot.is_vector() || binding.home == Home::kFile) continue;
    bytes += binding.slot.slices * MatrixBytes(Describe(binding));
  }
  return bytes;
}

void AttachTables(const std::shared_ptr<const formats::ModelFile>& file,
                  const std::vector<Binding>& bindings) {
  for (const Binding& binding : bindings) {
    if (binding.home != Home::kFile) continue;
    binding.slot.row_table()->reader = std::make_shared<FileRows>(file, *binding.tensor);
  }
}

PageCache PageCacheRule(uint64_t file_bytes, uint64_t memory_bytes) {
  return file_bytes > memory_bytes / 4 ? PageCache::kDrop : PageCache::kKeep;
}

Result<PackedWeights> PackWeights(const formats::ModelFile& file,
                                  const std::vector<Binding>& bindings,
                                  const PackOptions& options) {
  PackedWeights packed;
  auto storage = AlignedBuffer::Create(static_cast<uint64_t>(PackedBytes(bindings)));
  if (!storage.ok()) return std::move(storage).status().WithContext("weights");
  packed.storage = *std::move(storage);
  PackLoop loop{.file = file, .page_cache = options.page_cache};
  TensorSet not_finite;
  std::byte* next = packed.storage.data();
  for (const Binding& binding : bindings) {
    if (binding.home == Home::kFile) continue;
    if (binding.slot.is_vector()) {
      ASSIGN_OR_RETURN(binding.slot.vector(), ReadVector(file, binding, &not_finite));
      continue;
    }
    std::vector<float> factors;
    if (binding.factors != nullptr) {
      ASSIGN_OR_RETURN(factors, ReadFloats(file, *binding.factors, &not_finite));
    }
    const auto others = factors.empty() ? 0 : static_cast<size_t>(binding.slot.first_slice);
    next = AddJobs(binding, std::span(factors).subspan(others), next, &loop);
  }
  RETURN_IF_ERROR(RunPacking(options, &loop, &not_finite));
  for (const TensorInfo* tensor : not_finite) packed.not_finite.emplace_back(tensor->name);
  return packed;
}

}  // namespace skald::load
