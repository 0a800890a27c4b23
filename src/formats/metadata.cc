#include "formats/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "formats/metadata_builder.h"
#include "formats/quote.h"

namespace skald::formats {
namespace {

struct TypeRow {
  std::string_view name;
  size_t byte_count;
};

constexpr TypeRow kTypes[kValueTypeCount] = {
    {"uint8", 1},  {"int8", 1},    {"uint16", 2},  {"int16", 2},  {"uint32", 4},
    {"int32", 4},  {"float32", 4}, {"bool", 1},    {"string", 0}, {"array", 0},
    {"uint64", 8}, {"int64", 8},   {"float64", 8},
};

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// The number or bool of `type` at `at`, as a T. Values that T cannot hold were excluded by the
// caller, or are rounded (integers never reach a floating T).
template <typename T>
T LoadAs(ValueType type, const std::byte* at) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kBool: return static_cast<T>(Load<uint8_t>(at));
    case ValueType::kInt8: return static_cast<T>(Load<int8_t>(at));
    case ValueType::kUint16: return static_cast<T>(Load<uint16_t>(at));
    case ValueType::kInt16: return static_cast<T>(Load<int16_t>(at));
    case ValueType::kUint32: return static_cast<T>(Load<uint32_t>(at));
    case ValueType::kInt32: return static_cast<T>(Load<int32_t>(at));
    case ValueType::kUint64: return static_cast<T>(Load<uint64_t>(at));
    case ValueType::kInt64: return static_cast<T>(Load<int64_t>(at));
    case ValueType::kFloat32: return static_cast<T>(Load<float>(at));
    case ValueType::kFloat64: return static_cast<T>(Load<double>(at));
    case ValueType::kString:
    case ValueType::kArray: break;
  }
  UNREACHABLE();
}

bool IsInteger(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kUint16:
    case ValueType::kInt16:
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kUint64:
    case ValueType::kInt64: return true;
    default: return false;
  }
}

bool IsFloat(ValueType type) { return type == ValueType::kFloat32 || type == ValueType::kFloat64; }

constexpr std::string_view kWantsUnsigned = "a non-negative integer";
constexpr std::string_view kWantsInteger = "an integer";
constexpr std::string_view kWantsFloat = "a float";
constexpr std::string_view kWantsBool = "a bool";
constexpr std::string_view kWantsString = "a string";
constexpr std::string_view kWantsStrings = "an array of strings";
constexpr std::string_view kWantsInts = "an array of integers";
constexpr std::string_view kWantsFloats = "an array of floats";

}  // namespace

std::string_view ValueTypeName(ValueType type) { return kTypes[static_cast<size_t>(type)].name; }

size_t ValueTypeBytes(ValueType type) { return kTypes[static_cast<size_t>(type)].byte_count; }

template <typename T>
T NumberArray<T>::operator[](size_t i) const {
  DCHECK(i < size_);
  return LoadAs<T>(type_, bytes_.data() + i * ValueTypeBytes(type_));
}

template class NumberArray<int64_t>;
template class NumberArray<double>;

// ---- looking up ----

std::string_view Metadata::KeyOf(const Record& record) const {
  return {reinterpret_cast<const char*>(bytes_.get()) + record.key_offset, record.key_bytes};
}

std::span<const std::byte> Metadata::ValueBytes(const Record& record) const {
  return {bytes_.get() + record.value_offset, record.value_bytes};
}

const Metadata::Record* Metadata::Find(std::string_view key) const {
  const auto found =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [this](uint32_t i, std::string_view k) { return KeyOf(records_[i]) < k; });
  if (found == by_key_.end() || KeyOf(records_[*found]) != key) return nullptr;
  return &records_[*found];
}

Result<const Metadata::Record*> Metadata::Require(std::string_view key,
                                                  std::string_view expected) const {
  const Record* record = Find(key);
  if (record != nullptr) return record;
  return Status(ErrorCode::kBadModel,
                fmt::format("key {} is missing, expected {}", Quote(key), expected));
}

Status Metadata::WrongType(const Record& record, std::string_view expected) const {
  std::string found(ValueTypeName(record.type));
  if (record.type == ValueType::kArray) {
    found = fmt::format("array of {} {}", record.count, ValueTypeName(record.element_type));
  }
  return Status(ErrorCode::kBadModel, fmt::format("key {}: expected {}, found type {}",
                                                  Quote(KeyOf(record)), expected, found));
}

MetadataEntry Metadata::entry(size_t i) const { return EntryOf(records_[i]); }

std::optional<MetadataEntry> Metadata::FindEntry(std::string_view key) const {
  const Record* record = Find(key);
  if (record == nullptr) return std::nullopt;
  return EntryOf(*record);
}

MetadataEntry Metadata::EntryOf(const Record& record) const {
  const uint64_t count =
      record.type == ValueType::kString ? uint64_t{record.value_bytes} : uint64_t{record.count};
  return {KeyOf(record), record.type, record.element_type, count};
}

// ---- scalars ----

Result<uint64_t> Metadata::U64Of(const Record& record) const {
  if (!IsInteger(record.type)) return WrongType(record, kWantsUnsigned);
  const std::byte* at = ValueBytes(record).data();
  if (record.type == ValueType::kUint64) return Load<uint64_t>(at);
  const int64_t value = LoadAs<int64_t>(record.type, at);
  if (value >= 0) return static_cast<uint64_t>(value);
  return Status(ErrorCode::kBadModel, fmt::format("key {}: expected {}, found {}",
                                                  Quote(KeyOf(record)), kWantsUnsigned, value));
}

Result<int64_t> Metadata::I64Of(const Record& record) const {
  if (!IsInteger(record.type)) return WrongType(record, kWantsInteger);
  const std::byte* at = ValueBytes(record).data();
  if (record.type == ValueType::kUint64) {
    const auto value = Load<uint64_t>(at);
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Status(ErrorCode::kBadModel,
                    fmt::format("key {}: expected an integer below 2^63, found {}",
                                Quote(KeyOf(record)), value));
    }
  }
  return LoadAs<int64_t>(record.type, at);
}

Result<double> Metadata::F64Of(const Record& record) const {
  if (!IsFloat(record.type)) return WrongType(record, kWantsFloat);
  return LoadAs<double>(record.type, ValueBytes(record).data());
}

Result<bool> Metadata::BoolOf(const Record& record) const {
  if (record.type != ValueType::kBool) return WrongType(record, kWantsBool);
  return Load<uint8_t>(ValueBytes(record).data()) != 0;
}

Result<std::string_view> Metadata::StringOf(const Record& record) const {
  if (record.type != ValueType::kString) return WrongType(record, kWantsString);
  const auto bytes = ValueBytes(record);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<uint64_t> Metadata::GetU64(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsUnsigned));
  return U64Of(*record);
}

Result<int64_t> Metadata::GetI64(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsInteger));
  return I64Of(*record);
}

Result<double> Metadata::GetF64(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsFloat));
  return F64Of(*record);
}

Result<bool> Metadata::GetBool(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsBool));
  return BoolOf(*record);
}

Result<std::string_view> Metadata::GetString(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsString));
  return StringOf(*record);
}

Result<uint64_t> Metadata::GetU64Or(std::string_view key, uint64_t fallback) const {
  const Record* record = Find(key);
  return record == nullptr ? Result<uint64_t>(fallback) : U64Of(*record);
}

Result<int64_t> Metadata::GetI64Or(std::string_view key, int64_t fallback) const {
  const Record* record = Find(key);
  return record == nullptr ? Result<int64_t>(fallback) : I64Of(*record);
}

Result<double> Metadata::GetF64Or(std::string_view key, double fallback) const {
  const Record* record = Find(key);
  return record == nullptr ? Result<double>(fallback) : F64Of(*record);
}

Result<bool> Metadata::GetBoolOr(std::string_view key, bool fallback) const {
  const Record* record = Find(key);
  return record == nullptr ? Result<bool>(fallback) : BoolOf(*record);
}

Result<std::string_view> Metadata::GetStringOr(std::string_view key,
                                               std::string_view fallback) const {
  const Record* record = Find(key);
  return record == nullptr ? Result<std::string_view>(fallback) : StringOf(*record);
}

// ---- arrays ----

Result<StringArray> Metadata::GetStrings(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsStrings));
  if (record->type != ValueType::kArray || record->element_type != ValueType::kString) {
    return WrongType(*record, kWantsStrings);
  }
  return StringArray(ValueBytes(*record), record->count);
}

Result<IntArray> Metadata::IntsOf(const Record& record) const {
  const ValueType type = record.element_type;
  if (!IsInteger(type) && type != ValueType::kBool) return WrongType(record, kWantsInts);
  const IntArray ints(ValueBytes(record), type, record.count);
  if (type == ValueType::kUint64) {
    for (size_t i = 0; i < ints.size(); ++i) {
      if (ints[i] >= 0) continue;
      return Status(ErrorCode::kBadModel,
                    fmt::format("key {}: element {}: expected an integer below 2^63, found {}",
                                Quote(KeyOf(record)), i, static_cast<uint64_t>(ints[i])));
    }
  }
  return ints;
}

Result<IntArray> Metadata::GetInts(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsInts));
  if (record->type != ValueType::kArray) return WrongType(*record, kWantsInts);
  return IntsOf(*record);
}

Result<IntArray> Metadata::GetIntOrInts(std::string_view key) const {
  constexpr std::string_view kWants = "an integer or an array of integers";
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWants));
  if (record->type != ValueType::kArray && !IsInteger(record->type)) {
    return WrongType(*record, kWants);
  }
  return IntsOf(*record);
}

Result<FloatArray> Metadata::GetFloats(std::string_view key) const {
  ASSIGN_OR_RETURN(const Record* record, Require(key, kWantsFloats));
  if (record->type != ValueType::kArray || !IsFloat(record->element_type)) {
    return WrongType(*record, kWantsFloats);
  }
  return FloatArray(ValueBytes(*record), record->element_type, record->count);
}

// ---- listing ----

namespace {

std::string DescribeNumber(ValueType type, const std::byte* at) {
  if (type == ValueType::kBool) return Load<uint8_t>(at) != 0 ? "true" : "false";
  if (type == ValueType::kUint64) return std::to_string(Load<uint64_t>(at));
  if (type == ValueType::kFloat32) return fmt::format("{}", Load<float>(at));
  if (type == ValueType::kFloat64) return fmt::format("{}", Load<double>(at));
  return std::to_string(LoadAs<int64_t>(type, at));
}

}  // namespace

std::string Metadata::Describe(size_t i, size_t bytes_max) const {
  const Record& record = records_[i];
  const auto bytes = ValueBytes(record);
  if (record.type == ValueType::kString) return Quote(*StringOf(record), bytes_max);
  if (record.type != ValueType::kArray) return DescribeNumber(record.type, bytes.data());
  std::string text = "[";
  size_t shown = 0;
  const auto add = [&](const std::string& element) {
    text += (shown == 0 ? "" : ", ") + element;
    ++shown;
    return text.size() < bytes_max;
  };
  if (record.element_type == ValueType::kString) {
    for (const std::string_view string : StringArray(bytes, record.count)) {
      if (!add(Quote(string, bytes_max))) break;
    }
  } else {
    const size_t step = ValueTypeBytes(record.element_type);
    for (size_t at = 0; at < bytes.size(); at += step) {
      if (!add(DescribeNumber(record.element_type, bytes.data() + at))) break;
    }
  }
  if (shown == record.count) return text + "]";
  return text + fmt::format(", ... ({} {})]", record.count, ValueTypeName(record.element_type));
}

// ---- building ----

void MetadataBuilder::Add(Range key, const Value& value) {
  Metadata::Record record;
  record.key_offset = key.offset;
  record.key_bytes = static_cast<uint16_t>(key.byte_count);
  record.type = value.type;
  record.element_type = value.element_type;
  record.value_offset = value.range.offset;
  record.value_bytes = value.range.byte_count;
  record.count = value.count;
  metadata_.records_.push_back(record);
}

Result<Metadata> MetadataBuilder::Finish(std::shared_ptr<const std::byte[]> bytes) && {
  Metadata& m = metadata_;
  m.bytes_ = std::move(bytes);
  m.by_key_.resize(m.records_.size());
  std::iota(m.by_key_.begin(), m.by_key_.end(), uint32_t{0});
  const auto key = [&m](uint32_t i) { return m.KeyOf(m.records_[i]); };
  std::sort(m.by_key_.begin(), m.by_key_.end(),
            [&key](uint32_t a, uint32_t b) { return key(a) < key(b); });
  const auto twin = std::adjacent_find(m.by_key_.begin(), m.by_key_.end(),
                                       [&key](uint32_t a, uint32_t b) { return key(a) == key(b); });
  if (twin != m.by_key_.end()) {
    return Status(ErrorCode::kBadModel, fmt::format("key {} stands twice", Quote(key(*twin))));
  }
  return std::move(metadata_);
}

}  // namespace skald::formats
