#include "ranks/channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>
#include <thread>
#include <utility>

#include "ranks/socket_pair_for_test.h"

namespace skald::ranks {
namespace {

struct Ends {
  Channel here;
  Channel there;
};

Ends Connect() {
  auto [here, there] = SocketPair();
  return {Channel(here.Release()), Channel(there.Release())};
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

// What is left of bytes that somebody sends who then goes.
Status Received(std::string_view bytes) {
  Ends ends = Connect();
  EXPECT_EQ(write(ends.there.socket(), bytes.data(), bytes.size()), std::ssize(bytes));
  ends.there.Shut();
  Message message;
  return ends.here.Receive(&message);
}

TEST(Channel, BringsMessagesInTheirOrder) {
  Ends ends = Connect();
  EXPECT_TRUE(ends.here.Send(17, BytesOf("first")).ok());
  EXPECT_TRUE(ends.here.Send(18, {}).ok());
  Message message;
  ASSERT_TRUE(ends.there.Receive(&message).ok());
  EXPECT_EQ(message.kind, 17u);
  EXPECT_EQ(message.bytes.size(), 5u);
  ASSERT_TRUE(ends.there.Receive(&message).ok());
  EXPECT_EQ(message.kind, 18u);
  EXPECT_TRUE(message.bytes.empty());
}

// More than any socket holds, in pieces on both sides.
TEST(Channel, BringsLongMessages) {
  Ends ends = Connect();
  std::vector<std::byte> bytes(5'000'001);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  std::thread sender([&] { EXPECT_TRUE(ends.here.Send(20, bytes).ok()); });
  Message message;
  EXPECT_TRUE(ends.there.Receive(&message).ok());
  sender.join();
  EXPECT_TRUE(message.bytes == bytes);
}

TEST(Channel, BelievesNothing) {
  constexpr std::string_view kHead("SKR1\x11\0\0\0\5\0\0\0\0\0\0\0", 16);
  const std::string whole = std::string(kHead) + "first";
  EXPECT_TRUE(Received(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(Received(whole.substr(0, length)).code(), ErrorCode::kUnavailable) << length;
  }
  std::string other = whole;
  other[0] = 'X';
  EXPECT_EQ(Received(other).code(), ErrorCode::kInvalidArgument);
  std::string longer = whole;
  longer[12] = 1;  // 4 GiB and 5 bytes
  EXPECT_EQ(Received(longer).code(), ErrorCode::kInvalidArgument);
  std::string promised = whole;
  promised[11] = 0x40;  // the longest that there may be, and they never come
  promised[8] = 0;
  EXPECT_EQ(Received(promised).code(), ErrorCode::kUnavailable);
}

TEST(Channel, EndsAWaitWhenItIsShut) {
  Ends ends = Connect();
  std::thread other([&] {
    usleep(20'000);
    ends.here.Shut();
  });
  Message message;
  EXPECT_EQ(ends.here.Receive(&message).code(), ErrorCode::kUnavailable);
  other.join();
  EXPECT_EQ(ends.there.Receive(&message).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(ends.there.Send(1, BytesOf("late")).code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace skald::ranks
