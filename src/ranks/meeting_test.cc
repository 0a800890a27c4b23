#include "ranks/meeting.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "ranks/exchange_for_test.h"
#include "ranks/group.h"

namespace skald::ranks {
namespace {

const Invitation kInvited = {.key = "a key of some length", .patience_seconds = 20};

struct House {
  Socket listener = *ListenAt({.host = "127.0.0.1", .port = 0});
  Address address = OwnAddress(listener.descriptor());
};

std::future<Result<Met>> Send(const Address& address, const Invitation& invitation) {
  return std::async(std::launch::async, [=] { return Attend(address, 0, invitation); });
}

TEST(Meeting, LetsEachTwoRanksExchange) {
  House house;
  std::vector<std::future<Result<Met>>> others;
  for (int rank = 1; rank < Shape::kRanks; ++rank) others.push_back(Send(house.address, kInvited));
  std::string counted;
  Result<Met> first = Host(std::move(house.listener), Shape::kRanks, kInvited,
                           [&](int here) { counted += std::to_string(here); });
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(counted, "23");
  EXPECT_EQ(first->channels.size(), 2u);
  std::vector<std::thread> threads;
  std::vector<int> ranks;
  for (auto& other : others) {
    Result<Met> met = other.get();
    ASSERT_TRUE(met.ok()) << met.status().message();
    EXPECT_EQ(met->channels.size(), 1u);
    ranks.push_back(met->link->rank());
    threads.emplace_back([link = std::move(met->link), channels = std::move(met->channels)] {
      EXPECT_EQ(WrongFloats(kNarrow, link->rank(), &link->exchange()), 0);
    });
  }
  EXPECT_EQ(WrongFloats(kNarrow, 0, &first->link->exchange()), 0);
  for (std::thread& thread : threads) thread.join();
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(ranks, (std::vector<int>{1, 2}));
}

// A group over what they have: orders, answers, and the end.
TEST(Meeting, CarriesAGroup) {
  House house;
  std::thread other([&] {
    Result<Met> met = Attend(house.address, 0, kInvited);
    ASSERT_TRUE(met.ok());
    const auto link = [&](int rank) {
      EXPECT_EQ(rank, met->link->rank());
      return std::move(met->link);
    };
    const auto group = Group::Join(link, std::move(met->channels[0]), {.build = "a"});
    ASSERT_TRUE(group.ok());
    (*group)->Watch();
    Message order;
    while ((*group)->Next(&order).ok()) (*group)->Answer(Ok(), order.bytes);
  });
  Result<Met> met = Host(std::move(house.listener), 2, kInvited, [](int) {});
  ASSERT_TRUE(met.ok());
  auto group = Group::Lead(std::move(met->link), std::move(met->channels), {.build = "a"});
  ASSERT_TRUE(group.ok());
  (*group)->Watch();
  std::promise<void> lost;
  (*group)->WhenLost([&](const Status&) { lost.set_value(); });
  const std::byte said[3] = {};
  size_t heard = 0;
  EXPECT_TRUE((*group)
                  ->Ask(Group::kFirstOrder, said,
                        [&](int, std::span<const std::byte> bytes) {
                          heard = bytes.size();
                          return Ok();
                        })
                  .ok());
  EXPECT_EQ(heard, 3u);
  (*group)->Break("enough");
  lost.get_future().get();
  other.join();
}

TEST(Meeting, SaysWhoDoesNotCome) {
  House house;
  auto other = Send(house.address, kInvited);
  const Result<Met> met = Host(std::move(house.listener), 3,
                               {.key = kInvited.key, .patience_seconds = 0.5}, [](int) {});
  EXPECT_EQ(met.status().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(met.status().message(), "2 of 3 ranks are here, and nobody comes any more");
  const Result<Met> waited = other.get();
  EXPECT_EQ(waited.status().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(waited.status().message(),
            house.address.Text() + ": the other ranks do not come, or the group is complete");
}

TEST(Meeting, KeepsOutWhoHasAnotherKeyAndGoesOn) {
  House house;
  auto stranger = Send(house.address, {.key = "another", .patience_seconds = 5});
  auto host = std::async(std::launch::async,
                         [&] { return Host(std::move(house.listener), 2, kInvited, [](int) {}); });
  EXPECT_EQ(stranger.get().status().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(Send(house.address, kInvited).get().ok());
  EXPECT_TRUE(host.get().ok());
}

}  // namespace
}  // namespace skald::ranks
