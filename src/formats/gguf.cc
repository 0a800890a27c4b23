#include "formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "formats/header_reader.h"
#include "formats/metadata_builder.h"
#include "formats/quote.h"

namespace skald::formats {
namespace {

// The fewest bytes that can encode one of each: the bound of every count.
constexpr uint64_t kKeyBytesMin = 8 + 1 + 4 + 1;  // key length, key, type, uint8
constexpr uint64_t kTensorBytesMin =
    8 + 1 + 4 + 8 + 4 + 8;               // length, name, dims, dim, type, offset
constexpr uint64_t kStringBytesMin = 8;  // length

constexpr std::string_view kAlignmentKey = "general.alignment";

Status Bad(std::string problem) { return Status(ErrorCode::kBadModel, std::move(problem)); }

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Refuses a count that is over its limit or could not be encoded in the bytes left.
struct CountRule {
  std::string_view things;
  uint64_t count_max;
  uint64_t bytes_min;  // of one thing
};

Status CheckCount(uint64_t count, const CountRule& rule, uint64_t bytes_left) {
  if (count > rule.count_max) {
    return Bad(
        fmt::format("claims {} {}, at most {} are allowed", count, rule.things, rule.count_max));
  }
  if (count > bytes_left / rule.bytes_min) {
    return Bad(fmt::format("claims {} {}, but the {} bytes left hold at most {}", count,
                           rule.things, bytes_left, bytes_left / rule.bytes_min));
  }
  return Ok();
}

// What stands before the first key.
struct Preamble {
  uint32_t version;
  uint64_t tensor_count;
  uint64_t key_count;
};

Result<Preamble> ReadPreamble(HeaderReader& reader) {
  if (reader.remaining() == 0) return Bad("the file is empty");
  ASSIGN_OR_RETURN(const auto magic, reader.Take(4, "the magic number"));
  if (AsText(magic) != "GGUF") {
    return Bad(
        fmt::format("is no GGUF file: starts with {}, expected 'GGUF'", Quote(AsText(magic))));
  }
  Preamble preamble{};
  ASSIGN_OR_RETURN(preamble.version, reader.Read<uint32_t>("the version"));
  if (preamble.version != 2 && preamble.version != 3) {
    const bool big_endian = preamble.version != 0 && (preamble.version & 0xffffu) == 0;
    return Status(ErrorCode::kUnsupported,
                  fmt::format("GGUF version {}{} is not supported, expected 2 or 3",
                              preamble.version, big_endian ? " (big-endian file?)" : ""));
  }
  ASSIGN_OR_RETURN(preamble.tensor_count, reader.Read<uint64_t>("the number of tensors"));
  ASSIGN_OR_RETURN(preamble.key_count, reader.Read<uint64_t>("the number of keys"));
  const uint64_t left = reader.remaining();
  RETURN_IF_ERROR(CheckCount(preamble.key_count, {"keys", kKeysMax, kKeyBytesMin}, left));
  RETURN_IF_ERROR(
      CheckCount(preamble.tensor_count, {"tensors", kTensorsMax, kTensorBytesMin}, left));
  return preamble;
}

// Takes a string: length, then bytes. Errors name `what`.
Result<std::string_view> TakeString(HeaderReader& reader, uint64_t bytes_max,
                                    std::string_view what) {
  ASSIGN_OR_RETURN(const uint64_t length, reader.Read<uint64_t>(what));
  if (length > reader.remaining()) {
    return Bad(fmt::format("{} at offset {} claims {} bytes, {} left", what, reader.offset(),
                           length, reader.remaining()));
  }
  if (length > bytes_max) {
    return Bad(fmt::format("{} at offset {} has {} bytes, at most {} are allowed", what,
                           reader.offset(), length, bytes_max));
  }
  ASSIGN_OR_RETURN(const auto bytes, reader.Take(length, what));
  return AsText(bytes);
}

Result<ValueType> ReadValueType(HeaderReader& reader, std::string_view what) {
  ASSIGN_OR_RETURN(const uint32_t id, reader.Read<uint32_t>(what));
  if (id < kValueTypeCount) return static_cast<ValueType>(id);
  return Bad(fmt::format("{} {} at offset {}, expected 0 to {}", what, id, reader.offset() - 4,
                         kValueTypeCount - 1));
}

// Takes `count` numbers or bools.
Status TakeNumbers(HeaderReader& reader, ValueType type, uint64_t count) {
  // No overflow: a count is at most kArrayLengthMax.
  const uint64_t begin = reader.offset();
  ASSIGN_OR_RETURN(const auto bytes, reader.Take(count * ValueTypeBytes(type), "the value"));
  if (type != ValueType::kBool) return Ok();
  const auto bad =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return Ok();
  return Bad(fmt::format("a bool at offset {} is {}, expected 0 or 1",
                         begin + static_cast<uint64_t>(bad - bytes.begin()),
                         static_cast<int>(*bad)));
}

Status TakeStrings(HeaderReader& reader, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(TakeString(reader, kStringBytesMax, "a string").status());
  }
  return Ok();
}

// Where the bytes taken since `begin` lie. Header offsets fit 32 bits.
static_assert(kHeaderBytesMax <= UINT32_MAX);
MetadataBuilder::Range RangeSince(const HeaderReader& reader, uint64_t begin) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(reader.offset() - begin)};
}

Result<MetadataBuilder::Value> ReadArray(HeaderReader& reader) {
  ASSIGN_OR_RETURN(const ValueType type, ReadValueType(reader, "the array's element type"));
  if (type == ValueType::kArray) return Bad("arrays of arrays are not supported");
  ASSIGN_OR_RETURN(const uint64_t count, reader.Read<uint64_t>("the array's length"));
  const bool strings = type == ValueType::kString;
  const CountRule rule = {"array elements", kArrayLengthMax,
                          strings ? kStringBytesMin : ValueTypeBytes(type)};
  RETURN_IF_ERROR(CheckCount(count, rule, reader.remaining()));
  const uint64_t begin = reader.offset();
  RETURN_IF_ERROR(strings ? TakeStrings(reader, count) : TakeNumbers(reader, type, count));
  return MetadataBuilder::Value{ValueType::kArray, type, RangeSince(reader, begin),
                                static_cast<uint32_t>(count)};
}

Result<MetadataBuilder::Value> ReadValue(HeaderReader& reader) {
  ASSIGN_OR_RETURN(const ValueType type, ReadValueType(reader, "value type"));
  if (type == ValueType::kArray) return ReadArray(reader);
  if (type == ValueType::kString) {
    ASSIGN_OR_RETURN(const auto text, TakeString(reader, kStringBytesMax, "the string"));
    return MetadataBuilder::Value{type, type, RangeSince(reader, reader.offset() - text.size()), 1};
  }
  const uint64_t begin = reader.offset();
  RETURN_IF_ERROR(TakeNumbers(reader, type, 1));
  return MetadataBuilder::Value{type, type, RangeSince(reader, begin), 1};
}

Status ReadKey(HeaderReader& reader, MetadataBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string_view key, TakeString(reader, kKeyBytesMax, "a key"));
  const auto range = RangeSince(reader, reader.offset() - key.size());
  if (key.empty()) return Bad(fmt::format("a key at offset {} is empty", range.offset));
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return Bad(fmt::format("key {} at offset {} holds bytes other than printable ASCII", Quote(key),
                           range.offset));
  }
  auto value = ReadValue(reader);
  if (!value.ok()) return std::move(value).status().WithContext("key " + Quote(key));
  builder.Add(range, *value);
  return Ok();
}

Result<Metadata> ReadMetadata(HeaderReader& reader, uint64_t key_count) {
  MetadataBuilder builder;
  builder.Reserve(key_count);
  for (uint64_t i = 0; i < key_count; ++i) RETURN_IF_ERROR(ReadKey(reader, builder));
  return std::move(builder).Finish(reader.bytes());
}

// The specification says uint32, and other readers insist on it: a file with another type would
// have its tensors elsewhere for them than for us.
Result<uint64_t> AlignmentOf(const Metadata& metadata) {
  const auto entry = metadata.FindEntry(kAlignmentKey);
  if (entry && entry->type != ValueType::kUint32) {
    return Bad(fmt::format("key '{}': expected type uint32, found {}", kAlignmentKey,
                           ValueTypeName(entry->type)));
  }
  ASSIGN_OR_RETURN(const uint64_t alignment, metadata.GetU64Or(kAlignmentKey, kAlignmentDefault));
  if (std::has_single_bit(alignment) && alignment >= kAlignmentMin && alignment <= kAlignmentMax) {
    return alignment;
  }
  return Bad(fmt::format("key '{}': expected a power of two from {} to {}, found {}", kAlignmentKey,
                         kAlignmentMin, kAlignmentMax, alignment));
}

Result<TensorClaim> ReadTensorClaim(HeaderReader& reader) {
  TensorClaim claim;
  ASSIGN_OR_RETURN(claim.name, TakeString(reader, kStringBytesMax, "a tensor name"));
  ASSIGN_OR_RETURN(claim.dim_count, reader.Read<uint32_t>("a tensor's number of dimensions"));
  // More dimensions than we can hold are refused by the directory, which knows the name; where
  // the record ends is then unknown, so nothing of it is read.
  if (claim.dim_count > kTensorDimsMax) return claim;
  for (uint32_t i = 0; i < claim.dim_count; ++i) {
    ASSIGN_OR_RETURN(claim.dims[i], reader.Read<uint64_t>("a tensor's dimensions"));
  }
  ASSIGN_OR_RETURN(claim.type_id, reader.Read<uint32_t>("a tensor's element type"));
  ASSIGN_OR_RETURN(claim.data_offset, reader.Read<uint64_t>("a tensor's data offset"));
  return claim;
}

Result<GgufFile> ParseHeader(const ByteSource& source) {
  ASSIGN_OR_RETURN(HeaderReader reader, HeaderReader::Create(source, kHeaderBytesMax));
  ASSIGN_OR_RETURN(const Preamble preamble, ReadPreamble(reader));
  GgufFile file;
  file.version = preamble.version;
  ASSIGN_OR_RETURN(file.metadata, ReadMetadata(reader, preamble.key_count));
  ASSIGN_OR_RETURN(file.alignment, AlignmentOf(file.metadata));
  RETURN_IF_ERROR(CheckCount(preamble.tensor_count, {"tensors", kTensorsMax, kTensorBytesMin},
                             reader.remaining()));
  TensorDirectoryBuilder builder(file.alignment, reader.bytes());
  builder.Reserve(preamble.tensor_count);
  for (uint64_t i = 0; i < preamble.tensor_count; ++i) {
    ASSIGN_OR_RETURN(const TensorClaim claim, ReadTensorClaim(reader));
    RETURN_IF_ERROR(builder.Add(claim));
  }
  file.data_begin = RoundUp(reader.offset(), file.alignment);  // both far below 2^63
  ASSIGN_OR_RETURN(file.tensors, std::move(builder).Finish(file.data_begin, source.size()));
  return file;
}

}  // namespace

Result<GgufFile> ParseGguf(const ByteSource& source) {
  auto file = ParseHeader(source);
  if (!file.ok()) return std::move(file).status().WithContext(source.name());
  return file;
}

}  // namespace skald::formats
