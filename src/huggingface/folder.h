/// Folder: a model as its publisher keeps it, seen as a model file.
///
/// A folder of Hugging Face holds config.json, one or more .safetensors files, and the tokenizer
/// (tokenizer.json, tokenizer_config.json, generation_config.json, chat_template.jinja). Here its
/// members become the keys of GGUF, its tensors those of our families (an expert's becomes a slice,
/// rows move where the families rotate neighbours), read where they lie: nothing is converted on
/// disk, and nothing is held in memory but names.
///
/// The answers are those of a GGUF file that holds the same weights in the same types: bit for bit
/// (tests/huggingface).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "huggingface/tensor_plan.h"
#include "huggingface/tensor_reader.h"

namespace skald::huggingface {

/// Movable.
class Folder final : public formats::ModelFile {
 public:
  /// Whether `path` is such a folder: a directory with a config.json.
  static bool IsFolder(const std::string& path);

  /// Opens the folder at `path`, which must be one. Files are opened beside config.json, at names
  /// without a slash. Errors: kNotFound for a file that lacks; kBadModel, kUnsupported, with the
  /// file, the member or the tensor.
  static Result<Folder> Open(const std::string& path);

  const formats::Metadata& metadata() const override { return metadata_; }
  const formats::TensorDirectory& tensors() const override { return tensors_; }
  std::string format() const override { return "safetensors"; }
  std::string_view name() const override { return path_; }
  size_t part_count() const override { return parts_.size(); }
  uint64_t file_bytes() const override;
  Status ReadTensor(const formats::TensorInfo& tensor, uint64_t begin,
                    std::span<std::byte> out) const override;
  /// What is given back are whole stored tensors at their end, because rows may have moved.
  void DropTensor(const formats::TensorInfo& tensor, uint64_t begin,
                  uint64_t length) const override;

 private:
  Folder() = default;

  Status Read();
  Status OpenParts(const std::vector<std::string>& projections);
  Status OpenPart(const std::string& name, std::string_view prefix);
  Status MakeDirectory();
  const PlannedTensor& PlannedOf(const formats::TensorInfo& tensor) const;

  std::string path_;
  Parts parts_;
  std::vector<Stored> stored_;          // what the planned ones point to
  std::vector<PlannedTensor> planned_;  // in the order of tensors_
  formats::Metadata metadata_;
  formats::TensorDirectory tensors_;
};

}  // namespace skald::huggingface
