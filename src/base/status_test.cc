#include "skald/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "base/status_macros.h"

namespace skald {
namespace {

Status Fail() { return Status(ErrorCode::kIo, "disk gone"); }

Result<int> Half(int value) {
  if (value % 2 != 0) return Status(ErrorCode::kInvalidArgument, "odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Status, DefaultIsOkWithoutMessage) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Ok().code(), ErrorCode::kOk);
  EXPECT_EQ(Ok().message(), "");
}

TEST(Status, ContextGoesInFrontAndKeepsTheCode) {
  const Status status = Fail().WithContext("tensor 'x'").WithContext("model.gguf");
  EXPECT_EQ(status.message(), "model.gguf: tensor 'x': disk gone");
  EXPECT_EQ(status.code(), ErrorCode::kIo);
}

TEST(Status, ContextOnOkStaysOk) {
  const Status status = Ok().WithContext("anything");
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.message(), "");
}

TEST(Status, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kUnavailable); ++code) {
    names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::kUnavailable) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(*Half(4), 2);
  EXPECT_TRUE(Half(4).status().ok());
  EXPECT_FALSE(Half(3).ok());
  EXPECT_EQ(Half(3).status().message(), "odd");
}

TEST(Result, MovesOutMoveOnlyValues) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

TEST(Result, BuiltFromAnOkStatusIsAnError) {
  const Result<int> result{Ok()};
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), ErrorCode::kNumeric);
}

TEST(StatusMacros, AssignOrReturnPassesTheFirstErrorOn) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_EQ(Quarter(5).status().code(), ErrorCode::kInvalidArgument);
}

TEST(StatusMacros, ReturnIfErrorStopsAtAnErrorOnly) {
  int steps = 0;
  const auto run = [&](Status first) -> Status {
    RETURN_IF_ERROR(std::move(first));
    ++steps;
    return Ok();
  };
  EXPECT_TRUE(run(Ok()).ok());
  EXPECT_FALSE(run(Fail()).ok());
  EXPECT_EQ(steps, 1);
}

}  // namespace
}  // namespace skald
