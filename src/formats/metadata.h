/// Metadata: the typed key-value pairs of a model file.
///
/// Every value has the type the file gave it, and every getter says which type it wants: a mismatch
/// is an error that names the key, the type expected and the type found, never a reinterpretation
/// of bytes. Values stay in the file's own encoding inside one shared block of memory, so 128,000
/// token strings cost their bytes once and no allocation each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::formats {

/// Type of a value, with the numbers of the GGUF specification.
enum class ValueType : uint8_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kValueTypeCount = 13;

/// The name of `type` in messages, e.g. "uint32".
std::string_view ValueTypeName(ValueType type);

/// Bytes of one value of a number or bool type in the file; 0 for strings and arrays.
size_t ValueTypeBytes(ValueType type);

/// The strings of an array, in file order. A view: valid as long as the Metadata it came from.
/// Forward iteration only (a string's place depends on the lengths before it); a caller that needs
/// the i-th string at random keeps a vector of the string_views, which point into the Metadata.
class StringArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    std::string_view operator*() const {
      return {reinterpret_cast<const char*>(at_) + sizeof(uint64_t), Length()};
    }
    Iterator& operator++() {
      at_ += sizeof(uint64_t) + Length();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    size_t Length() const {  // proven to lie inside the metadata when the file was parsed
      uint64_t length;
      std::memcpy(&length, at_, sizeof(length));
      return static_cast<size_t>(length);
    }
    const std::byte* at_ = nullptr;
  };

  StringArray() = default;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }

 private:
  friend class Metadata;
  StringArray(std::span<const std::byte> bytes, size_t size) : bytes_(bytes), size_(size) {}

  std::span<const std::byte> bytes_;  // (u64 length, bytes) for each string
  size_t size_ = 0;
};

/// Numbers of an array, converted to T (int64_t or double) as they are read. A view: valid as long
/// as the Metadata it came from. operator[] requires i < size().
template <typename T>
class NumberArray {
 public:
  NumberArray() = default;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](size_t i) const;

 private:
  friend class Metadata;
  NumberArray(std::span<const std::byte> bytes, ValueType type, size_t size)
      : bytes_(bytes), type_(type), size_(size) {}

  std::span<const std::byte> bytes_;  // little-endian, not aligned
  ValueType type_ = ValueType::kUint8;
  size_t size_ = 0;
};
using IntArray = NumberArray<int64_t>;
using FloatArray = NumberArray<double>;

extern template class NumberArray<int64_t>;
extern template class NumberArray<double>;

/// What one key holds, for listing.
struct MetadataEntry {
  std::string_view key;
  ValueType type;          ///< kArray for arrays
  ValueType element_type;  ///< of an array; equal to `type` otherwise
  uint64_t count;          ///< elements of an array, bytes of a string, else 1
};

/// The keys of a file, in file order, each once. Made by ParseGguf; immutable; copies share memory.
class Metadata {
 public:
  Metadata() = default;

  size_t size() const { return records_.size(); }
  /// The i-th key in the order of the file. Requires i < size().
  MetadataEntry entry(size_t i) const;
  bool Contains(std::string_view key) const { return Find(key) != nullptr; }
  /// Its value as GGUF has it: a number's bytes, a string's without their length, the elements of
  /// an array one behind the other. Requires i < size().
  std::span<const std::byte> value_bytes(size_t i) const { return ValueBytes(records_[i]); }
  /// What the key holds, or nothing if it is missing.
  std::optional<MetadataEntry> FindEntry(std::string_view key) const;

  // Scalars. Errors: kBadModel if the key is missing, has another type, or (for integers) a value
  // outside the result type. Integers may be stored in any width, signed or not; floats as float32
  // or float64. O(log size()).
  Result<uint64_t> GetU64(std::string_view key) const;
  Result<int64_t> GetI64(std::string_view key) const;
  Result<double> GetF64(std::string_view key) const;
  Result<bool> GetBool(std::string_view key) const;
  /// The string's bytes, not necessarily UTF-8; valid as long as this object.
  Result<std::string_view> GetString(std::string_view key) const;

  // As above, but a missing key is `fallback`. A key of the wrong type is still an error.
  Result<uint64_t> GetU64Or(std::string_view key, uint64_t fallback) const;
  Result<int64_t> GetI64Or(std::string_view key, int64_t fallback) const;
  Result<double> GetF64Or(std::string_view key, double fallback) const;
  Result<bool> GetBoolOr(std::string_view key, bool fallback) const;
  Result<std::string_view> GetStringOr(std::string_view key, std::string_view fallback) const;

  // Arrays, possibly empty. Errors: kBadModel if the key is missing, is no array, or has elements
  // of another kind. GetInts takes any integer width (uint64 values above int64 are an error) and
  // bools; GetFloats float32 and float64.
  Result<StringArray> GetStrings(std::string_view key) const;
  Result<IntArray> GetInts(std::string_view key) const;
  Result<FloatArray> GetFloats(std::string_view key) const;

  /// As GetInts, but one integer that is not in an array counts as an array of one: some keys hold
  /// either a number for all layers or an array with one per layer.
  Result<IntArray> GetIntOrInts(std::string_view key) const;

  /// The value of entry `i` on one line for people: numbers, quoted strings with control bytes
  /// escaped, "[a, b, c, ... (32000 strings)]". At most about `bytes_max` bytes.
  std::string Describe(size_t i, size_t bytes_max) const;

 private:
  friend class MetadataBuilder;

  // 20 bytes, because a hostile file can spend as few as 14 on a key. Offsets count from the start
  // of bytes_, which is shorter than 4 GiB (kHeaderBytesMax in gguf.h).
  struct Record {
    uint32_t key_offset;
    uint16_t key_bytes;
    ValueType type;
    ValueType element_type;
    uint32_t value_offset;  // of the number, the string's bytes or the first element
    uint32_t value_bytes;
    uint32_t count;  // elements of an array, else 1
  };

  std::string_view KeyOf(const Record& record) const;
  MetadataEntry EntryOf(const Record& record) const;
  std::span<const std::byte> ValueBytes(const Record& record) const;
  const Record* Find(std::string_view key) const;
  Result<const Record*> Require(std::string_view key, std::string_view expected) const;
  Status WrongType(const Record& record, std::string_view expected) const;
  Result<uint64_t> U64Of(const Record& record) const;
  Result<int64_t> I64Of(const Record& record) const;
  Result<double> F64Of(const Record& record) const;
  Result<bool> BoolOf(const Record& record) const;
  Result<std::string_view> StringOf(const Record& record) const;
  Result<IntArray> IntsOf(const Record& record) const;

  std::shared_ptr<const std::byte[]> bytes_;
  std::vector<Record> records_;   // file order
  std::vector<uint32_t> by_key_;  // indices into records_, ascending by key
};

}  // namespace skald::formats
