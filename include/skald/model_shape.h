/// ModelShape: a model on paper: its layers and the types of its weights, without the weights.
///
///     const Result<ModelShape> shape = ReadModelShape("tales.gguf");
///     std::cout << shape->info().parameters << " parameters, "
///               << shape->info().weight_bytes << " bytes in memory\n";
///
/// It comes from the header of a GGUF file, from a publisher's folder or its config.json alone, or
/// from the table of published shapes. What an engine would make of it says skald/plan.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/endless.h"
#include "skald/engine.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

namespace model {
struct Network;
}

/// The tensors of one element type together.
struct WeightType {
  std::string type = {};  ///< "Q4_K"
  int64_t tensors = 0;
  int64_t parameters = 0;
  int64_t file_bytes = 0;
};

/// Layers that keep the same of each position.
struct KvGroup {
  std::string_view kind = {};  ///< "full", "window", "chunk" or "latent"
  int64_t layers = 0;
  /// Positions that a row sees, pinned ones included; 0: all. The engine keeps more than these.
  int64_t window = 0;
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;       ///< 0 where values are a part of the keys
  int64_t position_bytes = 0;  ///< of all these layers together
};

struct ShapeInfo {
  std::string name = {};
  std::string source = {};        ///< the file, or where the shape was published
  std::string architecture = {};  ///< "llama"
  int64_t parameters = 0;
  /// Elements of the matrices that a token is multiplied with: all but the experts that are not
  /// chosen and, where the head has a matrix of its own, the embedding. A decode step of one
  /// sequence does two operations for each.
  int64_t active_parameters = 0;
  int64_t weight_bytes = 0;  ///< packed, in memory
  int64_t layers = 0;
  int64_t width = 0;
  int64_t vocab = 0;
  int64_t context = 0;      ///< trained positions
  int64_t state_bytes = 0;  ///< that recurrent layers carry for a sequence; 0: none
  int64_t state_layers = 0;
  int ranks = 1;                         ///< ShapeOptions::ranks
  bool generates = true;                 ///< false: it reads texts both ways, to embed them
  std::vector<WeightType> weights = {};  ///< by type, the largest first
};

/// Cheap to copy; any thread.
class ModelShape {
 public:
  /// What stands behind it. Defined by the plan room.
  struct State;
  explicit ModelShape(std::shared_ptr<const State> state);

  const ShapeInfo& info() const;
  /// What is kept of positions, group by group, with K and V of these types.
  std::vector<KvGroup> KvGroups(KvCacheTypes types) const;
  /// The network itself, for plans: its matrices have types and sizes, and no values.
  const model::Network& network() const;

 private:
  std::shared_ptr<const State> state_;
};

/// What ReadModelShape and NamedModelShape make of the weights: a name of WeightChoices(), or empty
/// for the types of the file, or those that were published.
struct ShapeOptions {
  std::string weights = {};
  /// Of a model that is split (LoadOptions::ranks), the part of one rank, counted from 0. Packed
  /// bytes, active parameters and the state are then those of the rank.
  int ranks = 1;
  int rank = 0;
  Endless endless = {};  ///< LoadOptions
};
/// "F32", "F16", "BF16", and what `skald quantize` makes: "Q8_0", "Q4_K_M", ...
std::vector<std::string_view> WeightChoices();

/// The shape of a model at `path`: a GGUF file, or the first part of a split one; a folder with a
/// config.json, with weights or without; a config.json. No weight is read. Errors: as LoadModel;
/// kInvalidArgument for weights that are no choice, and a rank that is not there; kUnsupported for
/// more ranks than share it.
Result<ModelShape> ReadModelShape(const std::string& path, const ShapeOptions& options = {});

/// A published shape.
struct NamedShape {
  std::string_view name;    ///< "llama-3-8b"
  std::string_view source;  ///< whose config.json says so: "meta-llama/Meta-Llama-3-8B"
};
std::vector<NamedShape> NamedShapes();

/// The shape of that name. Errors: kNotFound, with the names there are; kInvalidArgument as above.
Result<ModelShape> NamedModelShape(std::string_view name, const ShapeOptions& options = {});

}  // namespace skald
