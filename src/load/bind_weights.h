/// Binding and packing: from the tensors of a file to the weights of a network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "formats/model_file.h"
#include "model/network.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::load {

/// The dimensions of a tensor for people, in the order of the file: "4096 x 32000".
std::string ShapeText(const formats::TensorInfo& tensor);

/// The dimensions that the tensor of a slot must have, in the order of the file.
std::vector<uint64_t> DimsOf(const model::TensorSlot& slot);

/// Where the tensor of a slot is afterwards.
enum class Home : uint8_t {
  kMemory,
  kFile,  ///< a table of rows that are read as steps need them
};

/// A slot of the network and the tensor that fills it.
struct Binding {
  model::TensorSlot slot;
  const formats::TensorInfo* tensor;
  /// Beside a matrix of NVFP4, where the file has it: the factors of its slices ("X.scale" beside
  /// "X.weight").
  const formats::TensorInfo* factors = nullptr;
  Home home = Home::kMemory;
};

/// Finds the tensor of every slot, and its factors, and checks shape and type. "X.input_scale"
/// beside NVFP4, which fixes a scale for the activations ahead of time, is left out: skald scales
/// activations by their own maximum (numerics 3.5). The bindings point into `network`,
/// which must stay where it is until its tensors are packed.
/// Errors: kBadModel with all missing tensors, or the one that is wrong; kUnsupported for a tensor
/// that no slot takes, because leaving it out would change the model's answers. Tables of rows
/// (TensorSlot::row_table) stay in the file if they have more than `max_table_bytes` there.
Result<std::vector<Binding>> BindTensors(model::Network& network,
                                         const formats::TensorDirectory& tensors,
                                         int64_t max_table_bytes = LoadOptions().max_table_bytes);

/// Bytes of the packed matrices of `bindings`.
int64_t PackedBytes(const std::vector<Binding>& bindings);

/// Gives each matrix of `network` the type and the sizes that PackWeights would, and no panels: for
/// who counts its work and computes nothing. `bindings` are those of the network. Errors:
/// kUnsupported for more matrices than any model has: each would take some bytes here.
Status DescribeMatrices(const std::vector<Binding>& bindings, model::Network* network);

/// Called from time to time, by the calling thread, with bytes of the file done and in all.
using Progress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

/// What happens to the system's copy of the file, the page cache, as it is read.
enum class PageCache {
  kKeep,  ///< it stays, as long as the system has no better use for it
  kDrop,  ///< it is given back behind the reader
};

/// What to do with the page cache of a model file of `file_bytes` on a machine with `memory_bytes`.
///
/// Packed weights are a second copy of what the page cache holds. It costs the process nothing (it
/// is not its memory, and the system takes it back when it needs it), and the next load of the
/// same file runs at memory speed instead of the disk's. So it is kept, unless both together are
/// more than half of the machine: up to there they fit beside other programs, beyond, a file that
/// is read once pushes out what others use.
PageCache PageCacheRule(uint64_t file_bytes, uint64_t memory_bytes);

/// How to pack.
struct PackOptions {
  ThreadPool& pool;
  Progress progress = nullptr;
  PageCache page_cache = PageCache::kKeep;
};

/// The tensors of a file as the network uses them.
struct PackedWeights {
  AlignedBuffer storage;  ///< the panels, to which the network's matrices point now
  /// Tensors with a weight or a scale that is NaN or infinite, in the order of the file. They are
  /// packed as they are.
  std::vector<std::string> not_finite;
};

/// Lets the tables of rows that stay in the file read from it, for as long as the network lives.
void AttachTables(const std::shared_ptr<const formats::ModelFile>& file,
                  const std::vector<Binding>& bindings);

/// Reads every bound tensor that is to be in memory, packs it and puts it in its place in the
/// network. Matrices go to panels in one buffer, by all threads of the pool; vectors to floats.
/// Errors: kIo (also if the file shrank since it was opened), kResourceExhausted. Memory: the
/// packed weights and less than 1 MiB for each thread (for rows above 64 KiB, 16 of them).
Result<PackedWeights> PackWeights(const formats::ModelFile& file,
                                  const std::vector<Binding>& bindings, const PackOptions& options);

}  // namespace skald::load
