/// FamilyModels: a small model of every family, made from its shape and random weights.
///
/// The shapes stand in tests/data/families.txt, which says how it came about. A weight depends on
/// the name of its tensor alone, so a model has the same bytes on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skald::support {

/// FNV-1a (Fowler, Noll, Vo), 64 bits: the hash of the recorded numbers, and the seed of a tensor.
class Fnv {
 public:
  void Take(std::string_view bytes);
  void Take(std::span<const float> numbers);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

/// One model: the lines that describe its keys and tensors, and the hash of what skald gave for it
/// when they were recorded.
struct FamilyModel {
  std::string name;
  std::string hash;
  std::vector<std::string> lines = {};
};

/// All of them, in the order of the file.
std::vector<FamilyModel> ReadFamilyModels();

/// Its name as a part of a test's name: "qwen35-mtp" is qwen35_mtp.
std::string TestNameOf(const FamilyModel& model);

/// Writes the model as a GGUF file into the folder of temporary files; who calls removes it. A line
/// that makes no sense fails the test that asks.
std::string WriteFamilyModel(const FamilyModel& model);

}  // namespace skald::support
