#include "disk/page_key.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace skald::disk {
namespace {

std::string Hex(const PageKey& key) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : key.bytes) {
    text += kDigits[static_cast<unsigned char>(each) >> 4];
    text += kDigits[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

std::vector<TokenId> Tokens(int first) {
  std::vector<TokenId> tokens(kKeyTokens);
  std::iota(tokens.begin(), tokens.end(), TokenId{first});
  return tokens;
}

// What Python's hashlib says of the formula in the header: files outlive the program.
TEST(PageKey, IsTheFormula) {
  const PageKey identity = IdentityKey("a model");
  EXPECT_EQ(Hex(identity), "97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c");
  const PageKey first = FirstKey(identity, 0x0102030405060708);
  EXPECT_EQ(Hex(first), "577d1118afdb1705837d218f45f805e52a31775a821cb39ee7a27687d4d2474c");
  EXPECT_EQ(Hex(NextKey(first, Tokens(0))),
            "f6db88532945073929d220b467dd739b9d5fd1288e40c73088f070251b0059be");
}

TEST(PageKey, DependsOnAllThatAPageDependsOn) {
  const PageKey identity = IdentityKey("a model");
  const PageKey first = FirstKey(identity, 0);
  std::set<std::string> keys;
  keys.insert(Hex(first));
  keys.insert(Hex(FirstKey(identity, 1)));
  keys.insert(Hex(FirstKey(IdentityKey("another"), 0)));
  keys.insert(Hex(NextKey(first, Tokens(0))));
  keys.insert(Hex(NextKey(first, Tokens(1))));
  keys.insert(Hex(NextKey(FirstKey(identity, 1), Tokens(0))));
  // The same 32 tokens behind others.
  keys.insert(Hex(NextKey(NextKey(first, Tokens(0)), Tokens(0))));
  keys.insert(Hex(NextKey(NextKey(first, Tokens(1)), Tokens(0))));
  EXPECT_EQ(keys.size(), 8U);
}

}  // namespace
}  // namespace skald::disk
