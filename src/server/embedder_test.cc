#include "server/embedder.h"

#include <gtest/gtest.h>

#include <deque>
#include <mutex>

#include "server/embedding_writer.h"
#include "support/soon.h"

namespace skald::server {
namespace {

// What stands in the channel of an answer.
class Channel final : public AnswerChannel {
 public:
  void Respond(HttpResponse response) override { answer = std::move(response); }
  void Refuse(const ApiError& error, std::vector<HttpField>) override {
    answer = ToResponse(error);
  }
  void BeginStream(StreamForm, std::vector<HttpField>) override {}
  void Write(std::string_view) override {}
  void EndStream() override {}
  size_t backlog() const override { return 0; }
  bool Reserve(int64_t bytes) override {
    reserved = bytes;
    return true;
  }

  std::optional<HttpResponse> answer;
  int64_t reserved = 0;
};

// An embedder whose I/O thread is the test, and whose pool runs nothing by itself.
class EmbedderTest : public testing::Test {
 protected:
  std::shared_ptr<Embedder> Start(size_t inputs) {
    TenantAccounts::Claim claim = accounts_.Open({}, 0);
    auto embedder = std::make_shared<Embedder>(
        GenerationContext{.served = served_,
                          .engine = engine_,
                          .activity = activity_,
                          .clock = clock_,
                          .post =
                              [this](std::function<void()> work) {
                                const std::lock_guard lock(mutex_);
                                posted_.push_back(std::move(work));
                              },
                          .work =
                              [this](WorkPiece piece) {
                                pieces_.push_back(std::move(piece));
                                return QueuedWork();
                              }},
        channel_, GenerationName{.id = "embd-1", .label = "0/embd-1"}, std::move(claim));
    PreparedVectors prepared;
    prepared.writer = std::make_shared<EmbeddingWriter>(VectorForm::kNumbers, Pooling::kLast);
    prepared.numbers = static_cast<int64_t>(inputs) * engine_.embedding_width();
    prepared.answer_bytes = 64 + static_cast<int64_t>(inputs) * engine_.embedding_width() * 12;
    for (size_t i = 0; i < inputs; ++i) {
      prepared.engine_requests.push_back(
          {.prompt = {static_cast<TokenId>(i % 100 + 5)}, .pooling = Pooling::kLast});
    }
    embedder->Start(std::move(prepared));
    return embedder;
  }

  // One turn of the I/O thread.
  void RunPosted() {
    std::deque<std::function<void()>> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (const auto& work : posted) work();
  }

  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
  std::vector<WorkPiece> pieces_;
  Model model_ = *LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf"});
  Engine engine_ = *Engine::Create(model_, {.threads = 1, .kv_positions = 8192});
  ServedModel served_ = {.model = model_,
                         .engine = engine_,
                         .name = "tales",
                         .longest_token_bytes = 1,
                         .pooling = Pooling::kLast,
                         .fingerprint = "f"};
  Activity activity_;
  Clock clock_{[] { return int64_t{0}; }};
  TenantAccounts accounts_{{.running = 100, .waiting = 100}};
  Channel channel_;
};

TEST_F(EmbedderTest, WritesManyVectorsOnThePoolWithinWhatIsReserved) {
  const auto embedder = Start(200);
  EXPECT_TRUE(Soon([&] {
    RunPosted();
    return !pieces_.empty();
  }));
  ASSERT_EQ(pieces_.size(), 1);
  EXPECT_FALSE(channel_.answer) << "nothing is written by the I/O thread";
  const std::atomic<bool> stop = false;
  pieces_[0].run(WorkLimit(10, {.stop = stop, .unwanted = stop}));
  EXPECT_FALSE(channel_.answer) << "nor sent by the pool";
  RunPosted();
  ASSERT_TRUE(channel_.answer);
  EXPECT_LE(static_cast<int64_t>(channel_.answer->BodyBytes()), channel_.reserved);
  EXPECT_GE(pieces_[0].cost_bytes, static_cast<int64_t>(channel_.answer->BodyBytes()) / 2);
  std::string body = channel_.answer->body;
  for (const std::string& piece : channel_.answer->more) body += piece;
  EXPECT_TRUE(body.starts_with(R"({"object":"list","data":[{"object":"embedding","index":0,)"));
  EXPECT_NE(body.find(R"({"object":"embedding","index":199,"embedding":[)"), std::string::npos);
  EXPECT_NE(body.find("\"total_tokens\":200,"), std::string::npos);
}

TEST_F(EmbedderTest, AnswersFewVectorsAtOnce) {
  const auto embedder = Start(2);
  EXPECT_TRUE(Soon([&] {
    RunPosted();
    return channel_.answer.has_value();
  }));
  EXPECT_TRUE(pieces_.empty());
}

TEST_F(EmbedderTest, WritesNothingForAClientThatHasGone) {
  const auto embedder = Start(200);
  EXPECT_TRUE(Soon([&] {
    RunPosted();
    return !pieces_.empty();
  }));
  embedder->OnGone();
  const std::atomic<bool> stop = false;
  pieces_[0].run(WorkLimit(10, {.stop = stop, .unwanted = stop}));
  RunPosted();
  EXPECT_FALSE(channel_.answer);
}

}  // namespace
}  // namespace skald::server
