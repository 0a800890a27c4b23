/// Quantize: a GGUF file written anew, with its weights in fewer bits.
///
///     std::vector<std::byte> file;
///     const Result<QuantizeReport> report = QuantizeModel(
///         "tales.gguf", {.type = "Q8_0"}, [&](std::span<const std::byte> bytes) {
///           file.insert(file.end(), bytes.begin(), bytes.end());
///           return Ok();
///         });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/version.h"

namespace skald {

/// What QuantizeOptions::type may be, in capitals or not: Q8_0, Q4_0, Q4_K_M, Q5_K_M, Q6_K.
std::span<const std::string_view> QuantizeTypes();

struct QuantizeOptions {
  /// One of QuantizeTypes(). Q4_K_M and Q5_K_M keep half of the matrices attn_v and ffn_down in
  /// Q6_K; every type but Q8_0 the output, or the embedding that is in its place.
  std::string type = {};
  /// Whether tensors that are quantized already are quantized again, which adds to their error.
  bool allow_requantize = false;
  int threads = 0;  ///< 0: all cores; no bit depends on it
  /// Called from time to time, by the calling thread, with bytes of the source done and in all.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress = nullptr;
  StopCheck should_stop = {};
};

struct QuantizeReport {
  int64_t quantized = 0;  ///< tensors
  int64_t copied = 0;     ///< tensors as they were: vectors, routers, taps of convolutions
  /// Of the quantized ones: those whose rows are no multiple of the block, and took a larger type.
  int64_t widened = 0;
  int64_t source_bytes = 0;  ///< of tensors
  int64_t bytes = 0;         ///< of the new file
};

/// Takes the new file, from its first byte to its last.
using ByteSink = std::function<Status(std::span<const std::byte> bytes)>;

/// Quantizes the model at `path`, the first part if it is split; the new file is one. Keys are
/// copied, but for general.file_type and general.quantization_version, which are set, and the place
/// in a split. Memory: some tens of MiB, whatever the model. Errors: kInvalidArgument for an
/// unknown type or weights that are quantized already; kBadModel for a file that is wrong or has
/// weights that are no finite numbers; kUnsupported for a key that cannot be copied; kIo;
/// kCancelled; those of `sink`.
Result<QuantizeReport> QuantizeModel(const std::string& path, const QuantizeOptions& options,
                                     const ByteSink& sink);

}  // namespace skald
