/// Architecture: what the folders of one kind of model have of their own: the names of tensors, the
/// members of config.json, and which of our families it is. A file of families/ has those of one
/// publisher's line of models, and all that is special about them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata_writer.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

/// How the classes are called whose head ranks pairs of texts.
inline constexpr std::string_view kRankingClass = "ForSequenceClassification";

/// Where the rows of a tensor go on their way.
enum class Change : uint8_t {
  kNone,
  kPairRows,    ///< the rows of each query head go from halves to neighbours, as they are rotated
  kPairKvRows,  ///< the same for the heads of keys
  kEvenRows,    ///< the gates of a tensor in which gates and ups alternate
  kOddRows,     ///< the ups of it
  /// The value heads of a delta net, which are the last rows, go from neighbours that share a key
  /// head to one of each key head in turn.
  kTurnValueHeads,
  kTurnValueColumns,  ///< the same for the columns of what is multiplied with them
  kSkipPadding,       ///< the first rows stand for padding, and go: as many as its id, and one
};

/// What happens to the values of a tensor on their way.
enum class Values : uint8_t {
  kAsStored,
  kAddOne,    ///< norms that are stored as their distance from 1; they come out in F32
  kMinusExp,  ///< x becomes -e^x, in F32: the decay of a state, stored as its logarithm
};

/// One kind of tensor. "#" stands for a number: the first for the layer, the second for the expert,
/// whose tensors become slices of one.
struct NameRule {
  std::string_view stored;  ///< behind "model.", e.g. "layers.#.mlp.gate.weight"
  std::string_view name;    ///< ours, e.g. "blk.#.ffn_gate_inp.weight"
  Change change = Change::kNone;
  Values values = Values::kAsStored;
};

/// Writes keys as our families name them: "llama.block_count".
class KeyWriter {
 public:
  KeyWriter(formats::MetadataWriter& metadata, std::string_view family)
      : metadata_(metadata), prefix_(std::string(family) + ".") {}

  void Int(std::string_view key, int64_t value) { metadata_.SetInt(Spelled(key), value); }
  /// As float32, which is what GGUF files hold, so that both give the same bits.
  void Number(std::string_view key, double value) {
    metadata_.SetFloat(Spelled(key), static_cast<float>(value));
  }
  void Flag(std::string_view key, bool value) { metadata_.SetBool(Spelled(key), value); }
  void Text(std::string_view key, std::string_view value) {
    metadata_.SetString(Spelled(key), value);
  }
  void Ints(std::string_view key, std::span<const int64_t> values) {
    metadata_.SetInts(Spelled(key), values);
  }

 private:
  std::string Spelled(std::string_view key) const { return prefix_ + std::string(key); }

  formats::MetadataWriter& metadata_;
  std::string prefix_;
};

/// The sizes of a decoder that are not the same in all kinds of models.
struct DecoderShape {
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  std::vector<int64_t> kv_heads = {};  ///< one number for all layers, or one for each
  std::vector<int64_t> hidden = {};    ///< of feed-forwards, the same; none: nothing is said
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t rotated = 0;  ///< elements of a head that positions turn
  int64_t context = 0;  ///< positions
};

/// One kind of model.
struct Architecture {
  std::string_view model_type;       ///< of config.json
  std::string_view other_type = {};  ///< the same under a second name
  /// Whether a config.json of that type is of this kind; null: it is. Kinds that share a type come
  /// before the one that takes the rest.
  bool (*is_kind)(const Config&) = nullptr;
  std::string_view family;               ///< general.architecture
  std::span<const NameRule> rules = {};  ///< come before those that all have in common
  /// Of the head that ranks, where `architectures` names such a class (kRankingClass).
  /// They come before all others, and before what is left out.
  std::span<const NameRule> rank_rules = {};
  std::span<const MemberName> members = {};  ///< what config.json calls otherwise
  bool pairs_rows = false;                   ///< its rotation turns neighbours (kPairRows)
  bool adds_one = false;                     ///< to all norms (kAddOne)
  bool latent = false;      ///< attention to latents, whose YaRN has members of its own
  bool pads_first = false;  ///< positions begin behind that of padding (kSkipPadding)
  /// Where config.json does not say: the head is the embedding again, as its class of transformers
  /// has it. Only asked for without weights, which show what is so.
  bool ties_head = false;
  /// Two steps of sentence-transformers behind the pooling, each a matrix, are a part of the
  /// network: their tensors are "dense_2.linear.weight" and "dense_3.linear.weight".
  bool projects = false;
  double rotated_share = 1;              ///< of a head, where config.json does not say
  std::string_view activation = "silu";  ///< that the family computes
  /// tokenizer.ggml.model of a byte-pair encoding of characters: "llama" merges by the scores of
  /// tokens, others by the merges themselves.
  std::string_view characters_model = "llama";
  Status (*change_shape)(const Config&, DecoderShape*) = nullptr;  ///< what differs from the usual
  Status (*write_keys)(const Config&, KeyWriter*) = nullptr;       ///< beyond the common ones
  /// Adds our names of those tensors that tell models of the family apart, of the ones that this
  /// config.json has, beside those of `rank_rules`. Only asked for without weights.
  Status (*name_tensors)(const Config&, std::vector<std::string>*) = nullptr;
};

/// The architecture of a folder. Errors: kUnsupported for one that is not known, with those that
/// are.
Result<const Architecture*> FindArchitecture(const Config& config);

/// All of them, in no order.
std::vector<const Architecture*> Architectures();

}  // namespace skald::huggingface
