/// Keys: the numbers that a model file gives for its network, whatever the file's format, and which
/// tensors it has.
///
/// Names of keys are those of GGUF without the architecture before them: "block_count".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/conventions.h"
#include "skald/status.h"

namespace skald::model {

/// Errors of every getter: kBadModel with the key as the file spells it, if it is missing or not of
/// that kind.
class Keys {
 public:
  virtual ~Keys() = default;

  /// The key as the file spells it, for messages: "llama.block_count".
  virtual std::string Spelled(std::string_view name) const = 0;
  virtual bool Contains(std::string_view name) const = 0;
  /// 0 .. 2^40: far above any size in a model, and products of two stay inside 63 bits.
  virtual Result<int64_t> Size(std::string_view name) const = 0;
  virtual Result<double> Number(std::string_view name) const = 0;
  virtual Result<bool> Flag(std::string_view name) const = 0;
  virtual Result<std::string_view> Text(std::string_view name) const = 0;
  /// An array of texts, of any length.
  virtual Result<std::vector<std::string_view>> Texts(std::string_view name) const = 0;
  /// A size for each of `layers` layers: one number for all of them, or an array.
  virtual Result<std::vector<int64_t>> LayerSizes(std::string_view name, int64_t layers) const = 0;
  /// A number for each of `layers` layers: an array.
  virtual Result<std::vector<double>> LayerNumbers(std::string_view name, int64_t layers) const = 0;
  /// Tokens of the vocabulary.
  virtual Result<int64_t> VocabularySize() const = 0;
  /// Kinds of tokens that the vocabulary tells apart in a pair of texts.
  virtual Result<int64_t> TokenTypeCount() const = 0;
  /// Whose reading of the keys is wanted.
  virtual Conventions conventions() const = 0;
  /// Whether the file has a tensor of that name, as GGUF spells it: for what no key says.
  virtual bool ContainsTensor(std::string_view name) const = 0;

  Result<int64_t> SizeOr(std::string_view name, int64_t fallback) const;
  Result<double> NumberOr(std::string_view name, double fallback) const;
  Result<bool> FlagOr(std::string_view name, bool fallback) const;
  Result<std::string_view> TextOr(std::string_view name, std::string_view fallback) const;
};

}  // namespace skald::model
