#include "server/subkey.h"

#include <gtest/gtest.h>

namespace skald::server {
namespace {

// RFC 4231, test case 2.
TEST(Subkey, IsHmacSha256) {
  EXPECT_EQ(Subkey("Jefe", "what do ya want for nothing?"), 0x5bdcc146bf60754eU);
}

TEST(Subkey, DependsOnSecretAndPurpose) {
  EXPECT_NE(Subkey("0123456789abcdef", "ids"), Subkey("0123456789abcdef", "seeds"));
  EXPECT_NE(Subkey("0123456789abcdef", "ids"), Subkey("0123456789abcdeg", "ids"));
}

}  // namespace
}  // namespace skald::server
