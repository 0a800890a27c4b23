#include "skald/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "skald/model.h"

namespace skald {
namespace {

Model Tales() {
  Result<Model> model =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

LogitsSession Make(const Model& model, int64_t max_chunk) {
  Result<LogitsSession> session =
      LogitsSession::Create(model, {.context = 64, .max_chunk = max_chunk});
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

TEST(Logits, AreTheSameHoweverTheyAreCut) {
  const Model model = Tales();
  LogitsSession session = Make(model, 16);
  const std::vector<TokenId> tokens = *model.tokenizer().Encode("The fox had lost her key.");
  ASSERT_GT(tokens.size(), 7u);
  std::vector<std::vector<float>> whole;
  const Status status = session.Compute(tokens, {}, [&](std::span<const float> row) {
    whole.emplace_back(row.begin(), row.end());
    return Ok();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(whole.size(), tokens.size());
  for (const std::vector<int64_t>& chunks :
       std::vector<std::vector<int64_t>>{{1}, {3}, {5, 1, 2}, {16}}) {
    size_t row_index = 0;
    const Status cut = session.Compute(tokens, chunks, [&](std::span<const float> row) {
      EXPECT_TRUE(std::equal(row.begin(), row.end(), whole[row_index++].begin()));
      return Ok();
    });
    ASSERT_TRUE(cut.ok()) << cut.message();
    EXPECT_EQ(row_index, tokens.size());
  }
}

TEST(Logits, RefuseChunksAndTextsBeyondTheirLimits) {
  const Model model = Tales();
  LogitsSession session = Make(model, 4);
  const std::vector<TokenId> tokens(10, 300);
  const auto ignore = [](std::span<const float>) { return Ok(); };
  for (const int64_t chunk : {int64_t{0}, int64_t{-1}, int64_t{5}}) {
    const std::vector<int64_t> chunks = {chunk};
    const Status status = session.Compute(tokens, chunks, ignore);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(status.message().find("expected 1 to 4"), std::string::npos) << status.message();
  }
  const std::vector<TokenId> long_text(65, 300);
  EXPECT_EQ(session.Compute(long_text, {}, ignore).code(), ErrorCode::kResourceExhausted);
  // Each time its pages come back, and an error of the reader ends it.
  for (int time = 0; time < 5; ++time) {
    int rows = 0;
    const Status status = session.Compute(tokens, {}, [&](std::span<const float>) {
      return ++rows < 6 ? Ok() : Status(ErrorCode::kCancelled, "enough");
    });
    EXPECT_EQ(status.message(), "enough");
    EXPECT_EQ(rows, 6);
  }
}

}  // namespace
}  // namespace skald
