#include "ranks/group.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

#include "base/byte_writer.h"
#include "base/stopwatch.h"
#include "ranks/shared_link.h"
#include "ranks/socket_pair_for_test.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kEcho = Group::kFirstOrder;
constexpr uint32_t kRefuse = Group::kFirstOrder + 1;

// Memory and sockets of so many ranks.
struct Links {
  explicit Links(int count) : memory(*SharedRanks::Create(count)) {
    for (int rank = 1; rank < count; ++rank) {
      auto [own, other] = SocketPair();
      here.emplace_back(own.Release());
      there.emplace_back(other.Release());
    }
  }
  /// The memory once more, as another process has it.
  SharedRanks OtherMemory() const { return *SharedRanks::Open(dup(memory.descriptor())); }

  SharedRanks memory;
  std::vector<Channel> here;
  std::vector<Channel> there;
};

Result<std::shared_ptr<Group>> Lead(Links* links, const Group::Options& options) {
  return Group::Lead(std::make_unique<SharedLink>(std::move(links->memory), 0),
                     std::move(links->here), options);
}

Result<std::shared_ptr<Group>> Join(SharedRanks memory, Channel channel,
                                    const Group::Options& options) {
  const auto link = [&](int rank) { return std::make_unique<SharedLink>(std::move(memory), rank); };
  return Group::Join(link, std::move(channel), options);
}

// A rank that says what it hears until the first one ends.
void Echo(SharedRanks memory, Channel channel) {
  const auto group = Join(std::move(memory), std::move(channel), {.build = "a"});
  ASSERT_TRUE(group.ok()) << group.status().message();
  (*group)->Watch();
  Message order;
  while ((*group)->Next(&order).ok()) {
    if (order.kind == kEcho) (*group)->Answer(Ok(), order.bytes);
    if (order.kind == kRefuse) {
      (*group)->Answer(
          Status(ErrorCode::kResourceExhausted, "no room in " + std::to_string((*group)->rank())));
    }
  }
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Group, OrdersAndHearsAnswers) {
  Links links(3);
  std::vector<std::thread> others;
  for (Channel& channel : links.there) {
    others.emplace_back(Echo, links.OtherMemory(), std::move(channel));
  }
  {
    const auto group = Lead(&links, {.build = "a"});
    ASSERT_TRUE(group.ok()) << group.status().message();
    (*group)->Watch();
    std::string heard;
    const auto hear = [&](int rank, std::span<const std::byte> bytes) {
      heard += std::to_string(rank);
      heard.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return Ok();
    };
    EXPECT_TRUE((*group)->Ask(kEcho, BytesOf("ab"), hear).ok());
    EXPECT_EQ(heard, "1ab2ab");
    EXPECT_TRUE((*group)->AskOne(2, kEcho, BytesOf("c"), hear).ok());
    EXPECT_EQ(heard, "1ab2ab2c");
    // An error of one is not the end of all, and no answer is left over.
    const Status refused = (*group)->Ask(kRefuse, {}, hear);
    EXPECT_EQ(refused.code(), ErrorCode::kResourceExhausted);
    EXPECT_EQ(refused.message(),
              "rank 1 of 3 (process " + std::to_string(getpid()) + "): no room in 1");
    EXPECT_TRUE((*group)->Ask(kEcho, BytesOf("d"), hear).ok());
    EXPECT_EQ(heard, "1ab2ab2c1d2d");
    EXPECT_TRUE((*group)->status().ok());
  }
  for (std::thread& other : others) other.join();
}

TEST(Group, RefusesAnotherBuildByItsName) {
  Links links(2);
  std::thread other([&links, memory = links.OtherMemory()]() mutable {
    const auto group = Join(std::move(memory), std::move(links.there[0]), {.build = "b"});
    EXPECT_EQ(group.status().message(), "the first rank is 'a', expected 'b'");
  });
  const auto group = Lead(&links, {.build = "a"});
  EXPECT_EQ(group.status().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(group.status().message(),
            "rank 1 of 2 (process " + std::to_string(getpid()) +
                "): it is 'b', expected 'a': ranks that are not alike give other bits");
  other.join();
}

TEST(Group, RefusesWhoSaysNothingThatItKnows) {
  for (const std::string_view said :
       {"", "\1\0\0\0", "rubbish of more bytes than a greeting has"}) {
    Links links(2);
    std::thread other([&] {
      Message hello;
      EXPECT_TRUE(links.there[0].Receive(&hello).ok());
      EXPECT_TRUE(links.there[0].Send(1, BytesOf(said)).ok());
    });
    const auto group = Lead(&links, {.build = "a"});
    EXPECT_EQ(group.status().code(), ErrorCode::kInvalidArgument) << said;
    other.join();
  }
  Links links(2);
  EXPECT_TRUE(links.here[0].Send(1, BytesOf("no greeting")).ok());
  EXPECT_FALSE(Join(links.OtherMemory(), std::move(links.there[0]), {.build = "a"}).ok());
}

// Who is with a first rank that has greeted it, and does nothing.
struct Silent {
  explicit Silent(Links* links)
      : memory(links->OtherMemory()), socket(dup(links->there[0].socket())) {
    const Group::Options options = {.build = "a", .patience_seconds = 0.6};
    auto joined =
        std::async(std::launch::async, [&, other_memory = links->OtherMemory()]() mutable {
          return Join(std::move(other_memory), std::move(links->there[0]), options);
        });
    first = *Lead(links, options);
    other = *joined.get();
    first->WhenLost([this](const Status& why) { told.set_value(why.message()); });
  }
  ~Silent() { close(socket); }

  SharedRanks memory;
  int socket;
  std::promise<std::string> told;
  std::shared_ptr<Group> first;
  std::shared_ptr<Group> other;
};

std::string Name() { return "rank 1 of 2 (process " + std::to_string(getpid()) + ")"; }

// A process that is gone closes its socket; who waits for it is let go, and each side knows.
TEST(Group, IsLostAtOnceWhenARankIsGone) {
  Links links(2);
  Silent silent(&links);
  silent.first->Watch();
  silent.other->Watch();
  std::thread step([&] {
    float row[2] = {1, 0};
    silent.first->exchange().Gather({row, 2, 1, 0, 1});  // the other never comes
  });
  const Stopwatch watch;
  EXPECT_EQ(shutdown(silent.socket, SHUT_RDWR), 0);
  step.join();
  EXPECT_EQ(silent.told.get_future().get(), Name() + " is gone");
  EXPECT_LT(watch.Seconds(), 2);
  EXPECT_TRUE(silent.first->lost());
  EXPECT_EQ(silent.first->status().code(), ErrorCode::kUnavailable);
  // Orders are nothing from then on, and questions have no answer.
  silent.first->Tell(kEcho, {});
  EXPECT_FALSE(
      silent.first->Ask(kEcho, {}, [](int, std::span<const std::byte>) { return Ok(); }).ok());
  Message order;
  EXPECT_FALSE(silent.other->Next(&order).ok());
  EXPECT_TRUE(silent.other->lost());
}

// A stopped process keeps its socket. Before it has begun to beat nothing is known of it.
TEST(Group, IsLostWhenARankStandsStill) {
  Links links(2);
  Silent silent(&links);
  silent.first->Watch();
  usleep(900'000);
  EXPECT_FALSE(silent.first->lost());
  const Stopwatch watch;
  silent.memory.Beat(1);
  EXPECT_EQ(silent.told.get_future().get(), Name() + " has stood still for 0 s");
  EXPECT_GE(watch.Seconds(), 0.5);
  EXPECT_LT(watch.Seconds(), 5);
  EXPECT_FALSE(silent.first->first_stands_still());
}

// The others see that it is the first.
TEST(Group, SaysThatItIsTheFirstThatStandsStill) {
  Links links(2);
  Silent silent(&links);
  silent.memory.Beat(0);
  silent.other->Watch();
  Message order;
  EXPECT_FALSE(silent.other->Next(&order).ok());
  EXPECT_TRUE(silent.other->first_stands_still());
}

}  // namespace
}  // namespace skald::ranks
