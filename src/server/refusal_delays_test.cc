#include "server/refusal_delays.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/address.hpp>
#include <string>
#include <vector>

#include "server/connection.h"

namespace skald::server {
namespace {

TEST(RefusalDelays, LetsTenBeAndSlowsWhoGoesOn) {
  RefusalDelays delays;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(delays.Next("a", 100), 0) << i;
  EXPECT_DOUBLE_EQ(delays.Next("a", 100), 0.1);
  EXPECT_DOUBLE_EQ(delays.Next("a", 100), 0.2);
  for (int i = 0; i < 100; ++i) EXPECT_LE(delays.Next("a", 100), 1);
  EXPECT_EQ(delays.Next("a", 100), 1);
  EXPECT_EQ(delays.Next("b", 100), 0) << "another address";
}

TEST(RefusalDelays, ForgetsTenEachMinute) {
  RefusalDelays delays;
  for (int i = 0; i < 20; ++i) delays.Next("a", 100);
  EXPECT_DOUBLE_EQ(delays.Next("a", 106), 1) << "one of twenty";
  EXPECT_NEAR(delays.Next("a", 136), 0.6, 1e-9) << "five, and one came";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(delays.Next("a", 300), 0) << "all";
  EXPECT_GT(delays.Next("a", 300), 0);
}

TEST(RefusalDelays, SlowsACrowdOfAddressesInBoundedMemory) {
  RefusalDelays delays;
  // As many as there are places are each let be, then the rest together is.
  double waited = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 10'000; ++i) waited += delays.Next("10.0." + std::to_string(i), 100);
  }
  EXPECT_EQ(delays.addresses(), RefusalDelays::kMostAddresses);
  EXPECT_GT(waited, 0.9 * 5 * (10'000 - RefusalDelays::kMostAddresses));
  EXPECT_EQ(delays.Next("192.0.2.1", 100), 1) << "a newcomer has no place";
  EXPECT_EQ(delays.Next("192.0.2.1", 250), 0) << "and has one once the crowd is forgotten";
  EXPECT_EQ(delays.addresses(), 1u);
}

TEST(RefusalDelays, SlowsAThousandAddressesEach) {
  RefusalDelays delays;
  int at_once = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1000; ++i) at_once += delays.Next(std::to_string(i), 100) == 0 ? 1 : 0;
  }
  EXPECT_EQ(at_once, 10 * 1000);
}

TEST(RefusalDelays, HoldsABoundedNumber) {
  RefusalDelays delays;
  std::vector<RefusalDelays::Place> places;
  while (auto place = delays.TryHold()) places.push_back(*std::move(place));
  EXPECT_EQ(places.size(), static_cast<size_t>(RefusalDelays::kMostHeld));
  EXPECT_EQ(delays.held(), RefusalDelays::kMostHeld);
  places.pop_back();
  EXPECT_EQ(delays.held(), RefusalDelays::kMostHeld - 1);
  EXPECT_TRUE(delays.TryHold());
  places.clear();
  EXPECT_EQ(delays.held(), 0);
}

// Who has one address of IPv6 has 2^64 of them.
TEST(NetworkOf, IsAnAddressOfIpv4AndAHalfOneOfIpv6) {
  const auto network = [](const char* text) {
    return NetworkOf(boost::asio::ip::make_address(text));
  };
  EXPECT_EQ(network("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(network("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(network("2001:db8:1:2::7"), "2001:db8:1:2::");
  EXPECT_NE(network("2001:db8:1:3::7"), network("2001:db8:1:2::7"));
}

}  // namespace
}  // namespace skald::server
