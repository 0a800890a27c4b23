/// Model: a model file, loaded. Weights, tokenizer and facts about both; constant after loading.
///
///     Result<Model> model = LoadModel({.path = "tales.gguf"});
///     if (!model.ok()) std::cerr << model.status().message() << '\n';
///
/// A Model is a handle: copies share one set of weights, and any number of engines and threads may
/// use it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/chat_template.h"
#include "skald/conventions.h"
#include "skald/endless.h"
#include "skald/ids.h"
#include "skald/rope_override.h"
#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/tokenizer.h"
#include "skald/version.h"

namespace skald {

namespace model {
class Transformer;
}
namespace ranks {
class Group;
}

/// Facts about a loaded model, for people and for `--json`.
struct ModelInfo {
  std::string path;          ///< the (first) file
  std::string name;          ///< general.name, or the file name
  std::string architecture;  ///< "llama", "qwen2", ...
  std::string weights_type;  ///< the element type most weights are stored in: "Q4_K"
  int64_t parameter_count = 0;
  int64_t file_bytes = 0;    ///< all parts
  int64_t weight_bytes = 0;  ///< packed, in memory, of all ranks
  int64_t context_length = 0;
  int64_t vocab_size = 0;
  int64_t layer_count = 0;
  /// False: it was made to embed texts or to rank them, and does not continue them.
  bool generates = true;
  int64_t state_bytes = 0;    ///< that recurrent layers carry for each running sequence; 0: none
  std::string chat_template;  ///< empty if the file has none
  /// Says which model it is, the same on every machine: another training, quantization, vocabulary
  /// or template gives another number. Filled by LoadModel only.
  uint64_t identity = 0;
  /// Of the embeddings that it was trained for, as the file says; kNone: of a kind that skald does
  /// not compute.
  std::optional<Pooling> pooling = {};
  /// Of a model that ranks pairs of texts: what Request::pooling must be for a score.
  std::optional<Pooling> rank_pooling = {};
  /// How it was loaded, as far as that is part of what it computes; filled by LoadModel only.
  Conventions conventions = Conventions::kPublisher;
  RopeOverride rope = {};
  Endless endless = {};
  /// What a user should know about a file that could be loaded all the same: weights that are no
  /// numbers. Whole sentences; filled by LoadModel only.
  std::vector<std::string> warnings;
};

/// More ranks than any model has use for.
inline constexpr int kMaxRanks = 64;

/// How to load. Aggregates with defaults: set what you need.
struct LoadOptions {
  std::string path;  ///< a GGUF file, of a split one the first part; or a Hugging Face folder
  int threads = 0;   ///< threads that pack weights; 0 = all cores available to the process
  /// Among how many ranks the network is split, 1 to kMaxRanks: each has some rows of every matrix,
  /// with the memory of its own, and all compute each step together. No bit of an answer depends on
  /// it. Not every network can be split.
  int ranks = 1;
  /// The ranks are processes, and this is one of them (skald/ranks.h): it reads and packs its own
  /// part only. `ranks` is as many as there are then. The first tells the others what to load, and
  /// answers to nobody before all have the same model; `path`, `conventions`, `rope`,
  /// `endless` and `max_table_bytes` are its own, `threads` of all ranks together. Of the others
  /// only a `path` of their own counts.
  std::shared_ptr<ranks::Group> group = nullptr;
  Conventions conventions = Conventions::kPublisher;
  /// For a context beyond the trained one; ModelInfo::context_length is then the longer one.
  RopeOverride rope = {};
  /// For texts without an end; ModelInfo::context_length is then longer than any text.
  Endless endless = {};
  /// A table of which a step reads a few rows as they are (the per-layer embeddings of Gemma) stays
  /// in the file if it has more bytes than this there: rows are read when steps need them. The file
  /// must then stay as it is while the model lives; a request that meets a row which can no longer
  /// be read ends with kNumeric.
  int64_t max_table_bytes = int64_t{256} << 20;
  /// Called from the loading thread from time to time with bytes done and bytes in all. May be
  /// empty.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress = nullptr;
};

/// A loaded model.
class Model {
 public:
  /// What stands behind a Model. Defined by the load room.
  struct State;
  explicit Model(std::shared_ptr<const State> state);

  const ModelInfo& info() const;
  const Tokenizer& tokenizer() const;
  /// How the model wants conversations written: the template of the file; ChatML where the file
  /// has none and the vocabulary has its markers; else plain lines. An error, as of
  /// ChatTemplate::Create, if skald cannot read the file's: such a model only lacks chat.
  const Result<ChatTemplate>& chat_template() const;
  /// The tokens of a pair of texts for a model that ranks: as its file says (a template with
  /// "{query}" and "{document}", of which only its own bytes become control tokens), else by
  /// Tokenizer::EncodePair. Errors: kInvalidArgument for an empty text; as Tokenizer::Encode.
  Result<PairTokens> EncodePair(std::string_view query, std::string_view document,
                                StopCheck stop = {}) const;
  /// SHA-256 of the file's keys and tensors, 64 digits (src/load/model_hash.h says of what).
  /// The first call reads the whole file, on the calling thread: a second for a GB; what it found
  /// is kept. The file must have stayed as it was. Thread-safe: who comes meanwhile waits. Errors:
  /// kIo.
  Result<std::string> Sha256() const;
  /// The network itself, for the engine. Of one that was split (LoadOptions::ranks) the numbers:
  /// its weights are in the parts.
  const model::Transformer& transformer() const;
  /// What each rank has of it; the network itself, where it was not split.
  std::span<const model::Transformer> parts() const;
  /// Where the ranks are processes, with whom this one computes; of the parts only its own has
  /// weights then. Null: there are none, or they are threads.
  const std::shared_ptr<ranks::Group>& group() const;

 private:
  std::shared_ptr<const State> state_;
};

/// Opens, checks, and packs a model file into memory.
/// Errors: kNotFound, kIo (unreadable, vanished), kBadModel (malformed; names the file, the tensor
/// or key, what was expected and what was found), kUnsupported (architecture, element type or
/// tokenizer that this version does not have; lists what it has), kInvalidArgument (a number of
/// `options`), kResourceExhausted. Cost: one
/// pass over the file, by all threads.
Result<Model> LoadModel(const LoadOptions& options);

/// One metadata entry or tensor of a file, as text for people.
struct FileEntry {
  std::string name;
  std::string type;   ///< "u32", "string", "array[32000] of string"; for tensors "Q4_K"
  std::string value;  ///< shortened; for tensors the shape, "4096 x 4096"
  int64_t bytes = 0;  ///< tensors only
};

/// What is in a model file, without loading its weights.
struct ModelDescription {
  ModelInfo info;
  std::string format;  ///< "GGUF version 3", "safetensors"
  int part_count = 1;
  std::vector<FileEntry> metadata;
  std::vector<FileEntry> tensors;
  int64_t kv_bytes_per_token_f16 = 0;
  int64_t kv_bytes_per_token_f32 = 0;
  /// Nothing where the model keeps latents, which are not quantized.
  std::optional<int64_t> kv_bytes_per_token_q8 = std::nullopt;
  std::optional<int64_t> kv_bytes_per_token_q4 = std::nullopt;
};

/// Reads the tables of a model file and checks them as LoadModel does, but reads no weights. Errors
/// as LoadModel.
/// A file that holds a vocabulary and no tensors is described without a network (layer_count 0).
Result<ModelDescription> DescribeModel(const std::string& path);

/// The tokenizer of a model file alone, without its weights; also of a vocabulary-only file. Errors
/// as LoadModel.
Result<Tokenizer> LoadTokenizer(const std::string& path);

}  // namespace skald
