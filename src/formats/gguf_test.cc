#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "formats/gguf_builder.h"

namespace skald::formats {
namespace {

// A small file with a value of every type and tensors of three types.
GgufBuilder SmallFile() {
  GgufBuilder builder;
  builder.Key("general.architecture", "llama")
      .Key("u8", uint8_t{1})
      .Key("i16", int16_t{-2})
      .Key("u32", uint32_t{3})
      .Key("u64", uint64_t{4})
      .Key("f32", 5.0f)
      .Key("f64", 6.0)
      .Key("bool", true)
      .Key("words", std::vector<std::string>{"a", "", "bc"})
      .Key("numbers", std::vector<int32_t>{7, 8, 9})
      .Tensor({.name = "first", .dims = {32, 2}, .type_id = 2})
      .Tensor({.name = "second", .dims = {3}})
      .Tensor({.name = "third", .dims = {1, 2, 3, 4}, .type_id = 1});
  return builder;
}

// What ParseGguf says about `bytes`: "ok" or the message without the name of the source.
std::string Verdict(std::vector<std::byte> bytes) {
  const auto file = ParseGguf(MemorySource(std::move(bytes), "f"));
  if (file.ok()) return "ok";
  EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
  EXPECT_TRUE(file.status().message().starts_with("f: ")) << file.status().message();
  return file.status().message().substr(3);
}
std::string Verdict(const GgufBuilder& builder) { return Verdict(builder.Build()); }

void ExpectRefused(const GgufBuilder& builder, const std::string& part) {
  const std::string verdict = Verdict(builder);
  EXPECT_NE(verdict, "ok") << part;
  EXPECT_NE(verdict.find(part), std::string::npos) << verdict;
}

ByteWriter Raw() { return ByteWriter(); }

constexpr uint64_t k2To63 = uint64_t{1} << 63;

TEST(Gguf, ReadsAFileOfBothVersions) {
  for (const uint32_t version : {2u, 3u}) {
    GgufBuilder builder = SmallFile();
    builder.version = version;
    const auto file = ParseGguf(builder.BuildSource());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->version, version);
    EXPECT_EQ(file->alignment, 32u);
    EXPECT_EQ(file->metadata.size(), 10u);
    EXPECT_EQ(file->tensors.size(), 3u);
    EXPECT_EQ(file->data_begin, (builder.BuildHeader().size() + 31) / 32 * 32);
    EXPECT_EQ(file->tensors.Find("second")->offset, file->data_begin + 64);
  }
}

TEST(Gguf, FileWithoutKeysAndTensorsIsWellFormed) { EXPECT_EQ(Verdict(GgufBuilder()), "ok"); }

TEST(Gguf, EveryShorterPrefixIsRefusedAndTheWholePasses) {
  const std::vector<std::byte> whole = SmallFile().Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string verdict = Verdict({whole.begin(), whole.begin() + static_cast<long>(size)});
    ASSERT_NE(verdict, "ok") << size;
  }
  EXPECT_EQ(Verdict(whole), "ok");
}

// Any single byte may change what the file means, never whether reading it is safe; the sanitizer
// builds and the checks in the fuzz target make this test sharp.
TEST(Gguf, EverySingleByteChangeIsReadOrRefused) {
  const std::vector<std::byte> whole = SmallFile().Build();
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> bytes = whole;
      bytes[i] = static_cast<std::byte>(value);
      if (Verdict(bytes) != "ok") ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Gguf, MagicAndVersion) {
  EXPECT_EQ(Verdict(std::vector<std::byte>()), "the file is empty");
  GgufBuilder builder;
  builder.magic = "FUGG";
  EXPECT_EQ(Verdict(builder), "is no GGUF file: starts with 'FUGG', expected 'GGUF'");
  builder.magic = "GGUF";
  for (const uint32_t version : {0u, 1u, 4u, UINT32_MAX}) {
    builder.version = version;
    ExpectRefused(builder, "is not supported, expected 2 or 3");
  }
  builder.version = 0x03000000;
  ExpectRefused(builder, "(big-endian file?)");
}

TEST(Gguf, CountsBeyondTheBytesLeftAreRefusedBeforeAnyWork) {
  for (const uint64_t count : {uint64_t{1} << 32, k2To63 - 1, k2To63, UINT64_MAX}) {
    GgufBuilder builder = SmallFile();
    builder.key_count = count;
    ExpectRefused(builder, "claims " + std::to_string(count) + " keys");
    builder.key_count.reset();
    builder.tensor_count = count;
    ExpectRefused(builder, "claims " + std::to_string(count) + " tensors");
  }
  GgufBuilder builder = SmallFile();
  builder.key_count = 1000;
  ExpectRefused(builder, "claims 1000 keys, but the");
  builder.key_count = 9;  // the last key is then read as a tensor
  EXPECT_NE(Verdict(builder), "ok");
  builder.key_count = 11;  // the first tensor is then read as a key
  EXPECT_NE(Verdict(builder), "ok");
}

TEST(Gguf, KeyLimits) {
  const auto key = [](std::string_view name) { return GgufBuilder().Key(name, uint64_t{1}); };
  EXPECT_EQ(Verdict(key(std::string(65535, 'k'))), "ok");
  ExpectRefused(key(std::string(65536, 'k')), "a key at offset 32 has 65536 bytes, at most 65535");
  ExpectRefused(key(""), "is empty");
  ExpectRefused(key(std::string_view("a\0b", 3)), "key 'a\\x00b' at offset 32 holds bytes other");
  ExpectRefused(key("\xc3\xa4"), "other than printable ASCII");
  ExpectRefused(key("two\nlines"), "key 'two\\nlines'");
}

TEST(Gguf, LengthsThatWrapAreRefused) {
  for (const uint64_t length : {k2To63, UINT64_MAX, UINT64_MAX - 7, uint64_t{27}}) {
    ByteWriter file;  // a key whose name claims `length` bytes
    file.Bytes("GGUF").Put(uint32_t{3}).Put(uint64_t{0}).Put(uint64_t{1}).Put(length);
    file.Bytes("0123456789").PadTo(4);
    const std::string verdict = Verdict(file.bytes());
    EXPECT_NE(verdict.find("a key at offset 32 claims"), std::string::npos) << verdict;
    ExpectRefused(GgufBuilder().RawKey("k", 8, Raw().Put(length)), "key 'k': the string at offset");
  }
}

TEST(Gguf, DuplicateKeysAreRefused) {
  ExpectRefused(GgufBuilder().Key("k", uint8_t{1}).Key("k", uint8_t{1}), "key 'k' stands twice");
  ExpectRefused(GgufBuilder().Key("k", uint8_t{1}).Key("j", 1.0f).Key("k", "x"),
                "key 'k' stands twice");
}

TEST(Gguf, ValueTypesAreChecked) {
  ExpectRefused(GgufBuilder().RawKey("k", 13, Raw().Put(uint64_t{0})),
                "key 'k': value type 13 at offset 33, expected 0 to 12");
  ExpectRefused(GgufBuilder().RawKey("k", UINT32_MAX, Raw().Put(uint64_t{0})),
                "value type 4294967295");
  ExpectRefused(GgufBuilder().RawKey("k", 7, Raw().Put(uint8_t{2})),
                "key 'k': a bool at offset 37 is 2, expected 0 or 1");
}

TEST(Gguf, ArraysAreChecked) {
  const auto array = [](uint32_t type, uint64_t count, std::string_view content = "") {
    return GgufBuilder().RawKey("k", 9, Raw().Put(type).Put(count).Bytes(content));
  };
  EXPECT_EQ(Verdict(array(0, 0)), "ok");
  EXPECT_EQ(Verdict(array(8, 0)), "ok");
  EXPECT_EQ(Verdict(array(0, 3, "abc")), "ok");
  ExpectRefused(array(9, 1, std::string(64, '\0')), "arrays of arrays");
  ExpectRefused(array(255, 1), "element type 255");
  ExpectRefused(array(0, 4, "abc"), "claims 4 array elements, but the 3 bytes left hold at most 3");
  ExpectRefused(array(12, uint64_t{1} << 61), "array elements, at most");
  ExpectRefused(array(8, uint64_t{1} << 30, std::string(8192, '\0')), "array elements, at most");
  ExpectRefused(array(8, 2048, std::string(8192, '\0')), "hold at most 1024");
  ExpectRefused(array(7, 2, std::string_view("\1\2", 2)), "a bool at offset 50 is 2");
}

TEST(Gguf, StringsMayHoldAnyBytesUpToTheLimit) {
  EXPECT_EQ(Verdict(GgufBuilder().Key("k", std::string_view("\0\xff\xc0", 3))), "ok");
  EXPECT_EQ(Verdict(GgufBuilder().Key("k", std::string(kStringBytesMax, 'x'))), "ok");
  ExpectRefused(GgufBuilder().Key("k", std::string(kStringBytesMax + 1, 'x')),
                "has 4194305 bytes, at most 4194304 are allowed");
}

TEST(Gguf, AlignmentIsAPowerOfTwoInItsRangeStoredAsUint32) {
  for (const uint32_t alignment : {8u, 32u, 64u, 4096u, 1u << 20}) {
    GgufBuilder builder;
    builder.alignment = alignment;
    builder.Key("general.alignment", alignment).Tensor({.name = "a", .dims = {3}});
    builder.Tensor({.name = "b", .dims = {3}});
    const auto file = ParseGguf(builder.BuildSource());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->alignment, alignment);
    EXPECT_EQ(file->tensors.Find("b")->offset % alignment, 0u);
  }
  for (const uint32_t alignment : {0u, 1u, 3u, 4u, 33u, 1u << 21, 1u << 31}) {
    ExpectRefused(GgufBuilder().Key("general.alignment", alignment), "expected a power of two");
  }
  ExpectRefused(GgufBuilder().Key("general.alignment", "32"), "expected type uint32, found string");
  ExpectRefused(GgufBuilder().Key("general.alignment", uint64_t{32}), "found uint64");
  ExpectRefused(GgufBuilder().Key("general.alignment", std::vector<uint32_t>{32}), "found array");
}

TEST(Gguf, TensorRecordsAreChecked) {
  const auto file = [](const BuiltTensor& tensor) {
    return GgufBuilder().Key("k", std::string(100, 'x')).Tensor(tensor);
  };
  ExpectRefused(file({.name = "a", .dims = {}}), "tensor 'a': expected 1 to 4 dimensions, found 0");
  ExpectRefused(file({.name = "a", .dims = {1, 1, 1, 1, 1}}), "found 5");
  ExpectRefused(file({.name = "a", .dims = {1}, .dim_count = UINT32_MAX}), "found 4294967295");
  ExpectRefused(file({.name = "a", .dims = {4, 0}}), "dimension 1 is 0");
  ExpectRefused(file({.name = "a", .dims = {k2To63}}), "2^64 bytes");
  ExpectRefused(file({.name = "a", .dims = {4}, .offset = k2To63}), "found 9223372036854775808");
  ExpectRefused(file({.name = "a", .dims = {1024}, .data = std::vector<std::byte>(4095)}),
                "past the end of the file");
}

TEST(Gguf, BytesAfterTheLastTensorAreAllowed) {
  std::vector<std::byte> bytes = SmallFile().Build();
  bytes.resize(bytes.size() + 100000, std::byte{0xee});
  EXPECT_EQ(Verdict(bytes), "ok");
}

TEST(Gguf, KeysAndTensorsUpToTheirLimits) {
  const auto file = [](uint64_t keys, uint64_t tensors) {
    GgufBuilder builder;
    builder.alignment = 8;
    builder.Key("general.alignment", uint32_t{8});
    for (uint64_t i = 1; i < keys; ++i) builder.Key(std::to_string(i), uint8_t{0});
    for (uint64_t i = 0; i < tensors; ++i) builder.Tensor({.name = std::to_string(i), .dims = {1}});
    return builder;
  };
  EXPECT_EQ(Verdict(file(kKeysMax, kTensorsMax)), "ok");
  ExpectRefused(file(kKeysMax + 1, 0), "claims 65537 keys, at most 65536 are allowed");
  ExpectRefused(file(1, kTensorsMax + 1), "claims 65537 tensors, at most 65536 are allowed");
}

// 60,000 keys cost a peer 5 s, with a quadratic search for duplicates.
// Quadratic time would be hundreds of seconds. Processor time, so that a busy machine does not
// matter; fewer keys under the sanitizers, which are some 20 times slower.
TEST(Gguf, ManyKeysWithALongCommonPrefixTakeNoMoreThanASecond) {
#ifdef SKALD_SANITIZED
  constexpr int kKeys = 3000;
#else
  constexpr int kKeys = 60000;
#endif
  GgufBuilder builder;
  const std::string prefix(1000, 'p');
  for (int i = 0; i < kKeys; ++i) builder.Key(prefix + std::to_string(i), uint8_t{0});
  const MemorySource source = builder.BuildSource();
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(ParseGguf(source).ok());
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1);  // 0.1 as a rule
}

// A source that fails at one read and counts them.
class FailingSource final : public ByteSource {
 public:
  FailingSource(std::vector<std::byte> bytes, int fail_at)
      : bytes_(std::move(bytes)), fail_at_(fail_at) {}
  uint64_t size() const override { return bytes_.size(); }
  std::string_view name() const override { return "failing"; }
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (reads_++ == fail_at_) return Status(ErrorCode::kIo, "pulled the plug");
    return bytes_.ReadAt(offset, out);
  }
  int reads() const { return reads_; }

 private:
  MemorySource bytes_;
  int fail_at_;
  mutable int reads_ = 0;
};

TEST(Gguf, ReadErrorsAtAnyReadArePassedOn) {
  GgufBuilder builder = SmallFile();
  builder.Key("long", std::string(1 << 20, 'x')).Key("longer", std::string(2 << 20, 'x'));
  const std::vector<std::byte> bytes = builder.Build();
  const FailingSource healthy(bytes, -1);
  ASSERT_TRUE(ParseGguf(healthy).ok());
  ASSERT_GT(healthy.reads(), 2);
  for (int i = 0; i < healthy.reads(); ++i) {
    const auto file = ParseGguf(FailingSource(bytes, i));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), ErrorCode::kIo);
    EXPECT_TRUE(file.status().message().starts_with("failing: "));
    EXPECT_TRUE(file.status().message().ends_with("pulled the plug"));
  }
}

// Claims to be as long as it likes; only what is read exists.
class HugeSource final : public ByteSource {
 public:
  HugeSource(std::vector<std::byte> front, uint64_t size) : front_(std::move(front)), size_(size) {}
  uint64_t size() const override { return size_; }
  std::string_view name() const override { return "huge"; }
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = offset + i < front_.size() ? front_[offset + i] : std::byte{0};
    }
    bytes_read_ += out.size();
    return Ok();
  }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::vector<std::byte> front_;
  uint64_t size_;
  mutable uint64_t bytes_read_ = 0;
};

TEST(Gguf, ShowingAHugeFileReadsOnlyItsHeader) {
  GgufBuilder builder;
  builder.Tensor({.name = "a", .dims = {uint64_t{1} << 34}});  // 64 GiB
  const HugeSource source(builder.BuildHeader(), uint64_t{1} << 37);
  const auto file = ParseGguf(source);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors.Find("a")->byte_count, uint64_t{1} << 36);
  EXPECT_LE(source.bytes_read(), 1u << 20);
}

TEST(Gguf, HeaderThatNeverEndsIsRefusedAtItsLimit) {
  GgufBuilder builder;
  for (int i = 0; i < 40; ++i) builder.Key(std::to_string(i), std::string(kStringBytesMax, 'x'));
  const HugeSource source(builder.BuildHeader(), uint64_t{1} << 40);
  const auto file = ParseGguf(source);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("does not end within 134217728 bytes"), std::string::npos)
      << file.status().message();
}

}  // namespace
}  // namespace skald::formats
