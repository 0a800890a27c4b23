#include "formats/tensor_directory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"

namespace skald::formats {
namespace {

constexpr uint64_t kDataBegin = 128;
constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;   // 32 elements in 18 bytes
constexpr uint32_t kQ6_K = 14;  // 256 elements in 210 bytes

TensorClaim Claim(std::string_view name, std::vector<uint64_t> dims, uint32_t type = kF32,
                  uint64_t offset = 0) {
  TensorClaim claim;
  claim.name = name;
  claim.type_id = type;
  claim.dim_count = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), claim.dims.begin());
  claim.data_offset = offset;
  return claim;
}

Result<TensorDirectory> Build(const std::vector<TensorClaim>& claims,
                              uint64_t file_bytes = 1 << 20) {
  TensorDirectoryBuilder builder(32, nullptr);
  for (const TensorClaim& claim : claims) {
    Status status = builder.Add(claim);
    if (!status.ok()) return status;
  }
  return std::move(builder).Finish(kDataBegin, file_bytes);
}

std::string ErrorOf(const std::vector<TensorClaim>& claims, uint64_t file_bytes = 1 << 20) {
  const auto directory = Build(claims, file_bytes);
  return directory.ok() ? "no error" : directory.status().message();
}

TEST(TensorDirectory, HoldsNamesShapesAndAbsoluteRanges) {
  const auto directory = Build({Claim("a", {3, 2}), Claim("b", {32, 2, 3, 4}, kQ4_0, 32),
                                Claim("c", {256}, kQ6_K, 32 + 448)});
  ASSERT_TRUE(directory.ok()) << directory.status().message();
  ASSERT_EQ(directory->size(), 3u);
  const TensorInfo& a = directory->all()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.offset, kDataBegin);
  EXPECT_EQ(a.byte_count, 24u);
  EXPECT_EQ(a.columns(), 3u);
  EXPECT_EQ(a.rows(), 2u);
  EXPECT_EQ(a.row_bytes(), 12u);
  const TensorInfo& b = directory->all()[1];
  EXPECT_EQ(b.offset, kDataBegin + 32);
  EXPECT_EQ(b.byte_count, 18u * 24);
  EXPECT_EQ(b.rows(), 24u);
  EXPECT_EQ(b.row_bytes(), 18u);
  EXPECT_EQ(directory->all()[2].byte_count, 210u);
}

TEST(TensorDirectory, FindsTensorsByName) {
  const auto directory =
      Build({Claim("b", {8}), Claim("a", {8}, kF32, 32), Claim("ab", {8}, kF32, 64)});
  ASSERT_TRUE(directory.ok());
  for (const TensorInfo& tensor : directory->all()) {
    EXPECT_EQ(directory->Find(tensor.name), &tensor);
  }
  EXPECT_EQ(directory->Find("c"), nullptr);
  EXPECT_EQ(directory->Find(""), nullptr);
  EXPECT_EQ(directory->Get("c").status().message(), "tensor 'c': is missing");
  EXPECT_EQ(TensorDirectory().Find("a"), nullptr);
}

TEST(TensorDirectory, DataMayEndExactlyAtTheEndOfTheFile) {
  EXPECT_EQ(ErrorOf({Claim("a", {4})}, kDataBegin + 16), "no error");
  EXPECT_EQ(ErrorOf({Claim("a", {4})}, kDataBegin + 15),
            "tensor 'a': needs 16 bytes at offset 128 + 0, past the end of the file (143 bytes): "
            "truncated?");
}

TEST(TensorDirectory, ZeroDimensionsAreRefusedAtEveryPlace) {
  EXPECT_EQ(ErrorOf({Claim("a", {0})}), "tensor 'a': dimension 0 is 0");
  EXPECT_EQ(ErrorOf({Claim("a", {4, 0})}), "tensor 'a': dimension 1 is 0");
  EXPECT_EQ(ErrorOf({Claim("a", {4, 1, 0})}), "tensor 'a': dimension 2 is 0");
  EXPECT_EQ(ErrorOf({Claim("a", {4, 1, 1, 0})}), "tensor 'a': dimension 3 is 0");
}

TEST(TensorDirectory, OneToFourDimensions) {
  TensorClaim claim = Claim("a", {1, 1, 1, 1});
  for (uint32_t count = 1; count <= 4; ++count) {
    claim.dim_count = count;
    EXPECT_EQ(ErrorOf({claim}), "no error") << count;
  }
  claim.dim_count = 0;
  EXPECT_EQ(ErrorOf({claim}), "tensor 'a': expected 1 to 4 dimensions, found 0");
  claim.dim_count = 5;
  EXPECT_EQ(ErrorOf({claim}), "tensor 'a': expected 1 to 4 dimensions, found 5");
  claim.dim_count = UINT32_MAX;
  EXPECT_EQ(ErrorOf({claim}), "tensor 'a': expected 1 to 4 dimensions, found 4294967295");
}

TEST(TensorDirectory, SizesThatWrapAreRefused) {
  constexpr uint64_t k2To32 = uint64_t{1} << 32;
  const auto wraps = [](std::vector<uint64_t> dims, uint32_t type = kF32) {
    return ErrorOf({Claim("a", std::move(dims), type)});
  };
  EXPECT_NE(wraps({k2To32, k2To32}).find("2^64 bytes"), std::string::npos);
  EXPECT_NE(wraps({uint64_t{1} << 63}).find("2^64 bytes"), std::string::npos);
  EXPECT_NE(wraps({2, (uint64_t{1} << 61) + 1}).find("2^64 bytes"), std::string::npos);
  EXPECT_NE(wraps({256, UINT64_MAX / 210 + 1}, kQ6_K).find("2^64 bytes"), std::string::npos);
  // The product is representable; its padding, or the sum of two, is not.
  EXPECT_EQ(wraps({UINT64_MAX / 4}), "tensor 'a': its data ends beyond 2^64 bytes");
  const uint64_t half = (uint64_t{1} << 63) - 32;
  EXPECT_EQ(ErrorOf({Claim("a", {half / 4}), Claim("b", {half / 4 + 16}, kF32, half)}),
            "tensor 'b': its data ends beyond 2^64 bytes");
}

TEST(TensorDirectory, RowsMustBeWholeBlocks) {
  EXPECT_EQ(ErrorOf({Claim("a", {33}, kQ4_0)}),
            "tensor 'a': rows of 33 elements are no multiple of the 32 elements of a Q4_0 block");
  EXPECT_EQ(ErrorOf({Claim("a", {16, 2}, kQ4_0)}),
            "tensor 'a': rows of 16 elements are no multiple of the 32 elements of a Q4_0 block");
  EXPECT_EQ(ErrorOf({Claim("a", {64}, kQ4_0)}), "no error");
  constexpr uint32_t kIQ1_M = 29;
  constexpr uint32_t kQ1_0 = 41;
  constexpr uint32_t kQ2_0 = 42;
  EXPECT_EQ(
      ErrorOf({Claim("a", {128}, kIQ1_M)}),
      "tensor 'a': rows of 128 elements are no multiple of the 256 elements of a IQ1_M block");
  EXPECT_EQ(ErrorOf({Claim("a", {64}, kQ1_0)}),
            "tensor 'a': rows of 64 elements are no multiple of the 128 elements of a Q1_0 block");
  EXPECT_EQ(ErrorOf({Claim("a", {96}, kQ2_0)}),
            "tensor 'a': rows of 96 elements are no multiple of the 64 elements of a Q2_0 block");
  EXPECT_EQ(ErrorOf({Claim("a", {192}, kQ2_0)}), "no error");
}

TEST(TensorDirectory, UnknownElementTypesAreUnsupportedAndListTheSupported) {
  const auto directory = Build({Claim("a", {256}, 9)});
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.status().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(directory.status().message(),
            "tensor 'a': element type 9 (Q8_1) is not supported; supported are F32, F16, BF16, "
            "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, "
            "MXFP4, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ1_M, TQ1_0, TQ2_0, Q1_0, "
            "Q2_0, NVFP4");
  for (const uint32_t type : {4u, 5u, 1000u, UINT32_MAX}) {
    EXPECT_NE(ErrorOf({Claim("a", {256}, type)}).find("(unknown) is not supported"),
              std::string::npos);
  }
}

TEST(TensorDirectory, DataMustTileTheSection) {
  const TensorClaim first = Claim("a", {12});  // 48 bytes: the next starts at 64
  EXPECT_EQ(ErrorOf({first, Claim("b", {4}, kF32, 64)}), "no error");
  EXPECT_EQ(ErrorOf({first, Claim("b", {4}, kF32, 32)}),
            "tensor 'b': expected data offset 64, right after the tensor before, found 32 (overlap "
            "or wrong order)");
  EXPECT_EQ(ErrorOf({first, Claim("b", {4}, kF32, 96)}),
            "tensor 'b': expected data offset 64, right after the tensor before, found 96 (gap)");
  EXPECT_EQ(ErrorOf({first, Claim("b", {4}, kF32, 48)}),
            "tensor 'b': data offset 48 is no multiple of the alignment 32");
  EXPECT_NE(ErrorOf({Claim("a", {4}, kF32, 32)}).find("(gap)"), std::string::npos);
}

TEST(TensorDirectory, NamesAreShortPrintableAndUnique) {
  EXPECT_EQ(ErrorOf({Claim(std::string(64, 'n'), {1})}), "no error");
  EXPECT_NE(ErrorOf({Claim(std::string(65, 'n'), {1})}).find("has 65 bytes"), std::string::npos);
  EXPECT_EQ(ErrorOf({Claim("", {1})}), "a tensor has an empty name");
  EXPECT_EQ(ErrorOf({Claim(std::string_view("a\0b", 3), {1})}),
            "tensor 'a\\x00b': the name holds bytes other than printable ASCII");
  EXPECT_EQ(ErrorOf({Claim("a", {1}), Claim("b", {1}, kF32, 32), Claim("a", {1}, kF32, 64)}),
            "tensor 'a': stands twice");
}

TEST(TensorDirectory, MergeNumbersThePartsAndRefusesNamesInTwo) {
  const auto one = Build({Claim("a", {1}), Claim("b", {1}, kF32, 32)});
  const auto two = Build({Claim("c", {1})});
  ASSERT_TRUE(one.ok() && two.ok());
  const std::vector<TensorDirectory> parts = {*one, *two};
  const auto merged = TensorDirectory::Merge(parts);
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(merged->size(), 3u);
  EXPECT_EQ(merged->Find("b")->part, 0);
  EXPECT_EQ(merged->Find("c")->part, 1);
  const std::vector<TensorDirectory> twice = {*two, *one, *two};
  EXPECT_EQ(TensorDirectory::Merge(twice).status().message(),
            "tensor 'c': stands in part 1 and in part 3");
}

}  // namespace
}  // namespace skald::formats
