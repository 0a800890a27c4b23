#include "ranks/door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace skald::ranks {
namespace {

Deadline InTime() { return Deadline(20); }  // more than any wait here

// A door, and where it is.
struct House {
  explicit House(const std::string& key)
      : listener(*ListenAt({.host = "127.0.0.1", .port = 0})),
        address(OwnAddress(listener.descriptor())),
        door(std::move(listener), key) {}
  Socket listener;
  Address address;
  Door door;
};

TEST(Door, LetsInWhoKnowsTheKey) {
  House house("a key of some length");
  std::thread visitor([&] {
    const Visit visit = {.purpose = Purpose::kPulse, .rank = 3};
    const Result<Socket> socket = Enter(house.address, visit, "a key of some length", InTime());
    ASSERT_TRUE(socket.ok()) << socket.status().message();
    EXPECT_EQ(send(socket->descriptor(), "x", 1, MSG_NOSIGNAL), 1);
  });
  const Result<Guest> guest = house.door.Next(InTime());
  ASSERT_TRUE(guest.ok());
  EXPECT_EQ(guest->visit.purpose, Purpose::kPulse);
  EXPECT_EQ(guest->visit.rank, 3);
  char byte = 0;
  EXPECT_EQ(recv(guest->socket.descriptor(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
  visitor.join();
}

// The visitor is the first to see it, and has proven nothing.
TEST(Door, KeepsOutWhoHasAnotherKey) {
  House house("a key of some length");
  auto visitor = std::async(std::launch::async, [&] {
    return Enter(house.address, {}, "a key of some lengtH", InTime()).status();
  });
  EXPECT_EQ(house.door.Next(Deadline(0.5)).status().code(), ErrorCode::kUnavailable);
  const Status refused = visitor.get();
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), house.address.Text() + ": whoever is there has another key");
}

// Sends `said` and hears what comes back until the other side closes.
std::string Say(const Address& address, const std::string& said) {
  const Result<Socket> socket = ConnectTo(address, InTime());
  EXPECT_TRUE(socket.ok());
  EXPECT_EQ(send(socket->descriptor(), said.data(), said.size(), MSG_NOSIGNAL), std::ssize(said));
  shutdown(socket->descriptor(), SHUT_WR);
  std::string heard;
  char bytes[256];
  ssize_t count = 0;
  while ((count = recv(socket->descriptor(), bytes, sizeof(bytes), 0)) > 0) {
    heard.append(bytes, static_cast<size_t>(count));
  }
  return heard;
}

std::string VisitBytes() {
  return std::string("SKD1\1\0\0\0\0", 9) + std::string(Door::kNonceBytes, 'n');
}

// Strangers of every kind stand before the one who knows it: no one delays it, no one gets in.
TEST(Door, LetsNoStrangerInAndWaitsForNone) {
  auto house = std::make_unique<House>("key");
  std::vector<Socket> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(*ConnectTo(house->address, InTime()));
  std::vector<std::future<std::string>> heard;
  for (const std::string& said :
       {std::string(), std::string("G"), "GET / HTTP/1.1\r\n\r\n" + std::string(64, ' '),
        VisitBytes().substr(0, 20), VisitBytes(), VisitBytes() + std::string(32, 'p'),
        "SKD1\4" + VisitBytes().substr(5)}) {
    heard.push_back(std::async(std::launch::async, Say, house->address, said));
  }
  std::thread visitor([&] { EXPECT_TRUE(Enter(house->address, {}, "key", InTime()).ok()); });
  const Stopwatch watch;
  EXPECT_TRUE(house->door.Next(InTime()).ok());
  EXPECT_LT(watch.Seconds(), 5);
  visitor.join();
  EXPECT_FALSE(house->door.Next(Deadline(0.2)).ok());
  house.reset();  // and whoever still stands there is sent away
  // A proof was not owed to whoever says what is no visit; a visit is answered once.
  const std::vector<size_t> lengths = {0, 0, 0, 0, 64, 64, 0};
  for (size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i].get().size(), lengths[i]) << i;
}

// What was heard once opens no door again: its nonce is another one.
TEST(Door, IsNotOpenedByAnOldProof) {
  House house("key");
  const std::string first = VisitBytes();
  std::string replies[2];
  for (std::string& reply : replies) {
    auto heard = std::async(std::launch::async, Say, house.address, first);
    EXPECT_FALSE(house.door.Next(Deadline(0.3)).ok());
    reply = heard.get();
  }
  EXPECT_EQ(replies[0].size(), 64u);
  EXPECT_NE(replies[0], replies[1]);
}

TEST(Enter, SaysThatNobodyIsThere) {
  Address address;
  {
    const Socket listener = *ListenAt({.host = "127.0.0.1", .port = 0});
    address = OwnAddress(listener.descriptor());
  }
  const Status none = Enter(address, {}, "key", Deadline(0.2)).status();
  EXPECT_EQ(none.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(none.message(), address.Text() + ": Connection refused");
}

TEST(ParseAddress, TakesAHostAndAPort) {
  EXPECT_EQ(ParseAddress("[::1]:65535")->Text(), "[::1]:65535");
  EXPECT_EQ(ParseAddress("node:x").status().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald::ranks
