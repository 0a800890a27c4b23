// What a feed tells a channel, with the bundled model and time that passes when the test says so.
#include "server/console/console_feed.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/test_server.h"
#include "support/soon.h"

namespace skald::server {
namespace {

// A client that has as much left to read as the test says.
class Channel final : public AnswerChannel {
 public:
  void Respond(HttpResponse) override {}
  void Refuse(const ApiError&, std::vector<HttpField>) override {}
  void BeginStream(StreamForm, std::vector<HttpField>) override {}
  void Write(std::string_view bytes) override { text += bytes; }
  void EndStream() override {}
  size_t backlog() const override { return unread; }
  bool Reserve(int64_t) override { return true; }

  std::string text;
  size_t unread = 0;
};

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ConsoleFeed, WhoReadsSlowlyIsToldNothingAndThenTheNewest) {
  Engine engine = MakeEngine();
  const ServedModel served = {.model = Tales(),
                              .engine = engine,
                              .name = "tales",
                              .longest_token_bytes = 8,
                              .pooling = Pooling::kNone,
                              .fingerprint = {}};
  const Clock clock([] { return int64_t{0}; });
  const auto keys = std::make_shared<const ApiKeys>("0123456789abcdef");
  std::function<void()> beat;
  ConsoleFeed feed({.engine = engine,
                    .served = served,
                    .clock = clock,
                    .later = [&](double, std::function<void()> work) { beat = std::move(work); },
                    .version = "1"},
                   keys);
  Channel channel;
  const auto watcher = feed.Watch(keys->Find(""), channel);
  ASSERT_TRUE(std::holds_alternative<std::shared_ptr<Exchange>>(watcher));
  const auto beats = [&](int count) {
    for (int i = 0; i < count; ++i) std::exchange(beat, nullptr)();
  };
  const auto told = [&] { return Count(channel.text, "event: stats"); };
  ASSERT_TRUE(Soon([&] { return beats(1), told() == 1; }));

  const Engine::OnToken ignore = [](const TokenEvent&) { return true; };
  channel.unread = ConsoleFeed::kMostBacklog + 1;
  channel.text.clear();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.Generate({.prompt = {1, 2, 3}, .stop = {.max_tokens = 2}}, ignore).ok());
    beats(2);
  }
  EXPECT_EQ(channel.text, "");

  channel.unread = ConsoleFeed::kMostBacklog;
  ASSERT_TRUE(Soon([&] { return beats(1), told() == 1; })) << "once, whatever was left out";
  EXPECT_TRUE(Soon([&] { return beats(1), Count(channel.text, "\"submitted\":3") == 1; }));
}

}  // namespace
}  // namespace skald::server
