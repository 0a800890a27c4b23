#include "load/network_from_gguf.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/families/families.h"

namespace skald::load {
namespace {

using formats::Metadata;

// The keys of one architecture: "llama.block_count" and so on.
class GgufKeys final : public model::Keys {
 public:
  GgufKeys(const Metadata& metadata, const formats::TensorDirectory& tensors, std::string_view arch,
           Conventions conventions = Conventions::kPublisher)
      : metadata_(metadata),
        tensors_(tensors),
        prefix_(std::string(arch) + "."),
        conventions_(conventions) {}

  std::string Spelled(std::string_view name) const override { return prefix_ + std::string(name); }
  bool Contains(std::string_view name) const override { return metadata_.Contains(Spelled(name)); }

  Result<int64_t> Size(std::string_view name) const override {
    ASSIGN_OR_RETURN(const uint64_t value, metadata_.GetU64(Spelled(name)));
    if (value > static_cast<uint64_t>(kMaxSize)) return TooLarge(name, std::to_string(value));
    return static_cast<int64_t>(value);
  }
  Result<double> Number(std::string_view name) const override {
    return metadata_.GetF64(Spelled(name));
  }
  Result<bool> Flag(std::string_view name) const override {
    return metadata_.GetBool(Spelled(name));
  }
  Result<std::string_view> Text(std::string_view name) const override {
    return metadata_.GetString(Spelled(name));
  }
  Result<std::vector<std::string_view>> Texts(std::string_view name) const override {
    ASSIGN_OR_RETURN(const formats::StringArray values, metadata_.GetStrings(Spelled(name)));
    std::vector<std::string_view> texts;
    for (const std::string_view text : values) texts.push_back(text);
    return texts;
  }

  Result<std::vector<int64_t>> LayerSizes(std::string_view name, int64_t layers) const override {
    ASSIGN_OR_RETURN(const formats::IntArray values, metadata_.GetIntOrInts(Spelled(name)));
    const auto count = static_cast<int64_t>(values.size());
    if (count != 1 && count != layers) {
      return Status(ErrorCode::kBadModel,
                    "key '" + Spelled(name) + "' has " + std::to_string(count) +
                        " numbers, expected one per layer (" + std::to_string(layers) + ")");
    }
    std::vector<int64_t> sizes;
    for (int64_t layer = 0; layer < layers; ++layer) {
      const int64_t value = values[count == 1 ? 0 : static_cast<size_t>(layer)];
      if (value > kMaxSize) return TooLarge(name, std::to_string(value));
      if (value < 0) {
        return Status(ErrorCode::kBadModel, "key '" + Spelled(name) + "' is " +
                                                std::to_string(value) +
                                                ", expected a positive number");
      }
      sizes.push_back(value);
    }
    return sizes;
  }

  Result<std::vector<double>> LayerNumbers(std::string_view name, int64_t layers) const override {
    ASSIGN_OR_RETURN(const formats::FloatArray values, metadata_.GetFloats(Spelled(name)));
    if (static_cast<int64_t>(values.size()) != layers) {
      return Status(ErrorCode::kBadModel,
                    "key '" + Spelled(name) + "' has " + std::to_string(values.size()) +
                        " numbers, expected one per layer (" + std::to_string(layers) + ")");
    }
    std::vector<double> numbers;
    for (size_t i = 0; i < values.size(); ++i) numbers.push_back(values[i]);
    return numbers;
  }

  // A config.json counts tokens and has none.
  Result<int64_t> VocabularySize() const override {
    if (!metadata_.Contains("tokenizer.ggml.tokens") && Contains("vocab_size")) {
      return Size("vocab_size");
    }
    ASSIGN_OR_RETURN(const formats::StringArray tokens,
                     metadata_.GetStrings("tokenizer.ggml.tokens"));
    return static_cast<int64_t>(tokens.size());
  }
  Result<int64_t> TokenTypeCount() const override {
    constexpr std::string_view kKey = "tokenizer.ggml.token_type_count";
    ASSIGN_OR_RETURN(const uint64_t count, metadata_.GetU64(kKey));
    if (count > static_cast<uint64_t>(kMaxSize)) {
      return Status(ErrorCode::kBadModel, "key '" + std::string(kKey) + "' is " +
                                              std::to_string(count) + ", larger than any model");
    }
    return static_cast<int64_t>(count);
  }
  Conventions conventions() const override { return conventions_; }
  bool ContainsTensor(std::string_view name) const override {
    return tensors_.Find(name) != nullptr;
  }

 private:
  static constexpr int64_t kMaxSize = int64_t{1} << 40;  // the contract of Keys

  Status TooLarge(std::string_view name, const std::string& value) const {
    return Status(ErrorCode::kBadModel,
                  "key '" + Spelled(name) + "' is " + value + ", larger than any model");
  }

  const Metadata& metadata_;
  const formats::TensorDirectory& tensors_;
  std::string prefix_;
  Conventions conventions_;
};

}  // namespace

Result<model::Network> NetworkFromGguf(const Metadata& metadata,
                                       const formats::TensorDirectory& tensors,
                                       Conventions conventions) {
  ASSIGN_OR_RETURN(const std::string_view arch, metadata.GetString("general.architecture"));
  return model::ReadNetwork(arch, GgufKeys(metadata, tensors, arch, conventions));
}

Result<std::optional<Pooling>> PoolingFromMetadata(const Metadata& metadata) {
  ASSIGN_OR_RETURN(const std::string_view arch, metadata.GetString("general.architecture"));
  const formats::TensorDirectory none;  // no tensor says anything about it
  ASSIGN_OR_RETURN(const int64_t type, GgufKeys(metadata, none, arch).SizeOr("pooling_type", 0));
  switch (type) {
    case 0: return std::optional<Pooling>();
    case 1: return std::optional(Pooling::kMean);
    case 2: return std::optional(Pooling::kFirst);
    case 3: return std::optional(Pooling::kLast);
    default: return std::optional(Pooling::kNone);
  }
}

}  // namespace skald::load
