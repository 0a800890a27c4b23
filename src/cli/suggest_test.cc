#include "cli/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::cli {
namespace {

const std::vector<std::string>& Verbs() {
  static const std::vector<std::string> verbs = {"run", "tokenize", "logits", "show", "ls"};
  return verbs;
}

TEST(Nearest, FindsOneTypingError) {
  EXPECT_EQ(Nearest("runn", Verbs()), "run");
  EXPECT_EQ(Nearest("rn", Verbs()), "run");
  EXPECT_EQ(Nearest("rum", Verbs()), "run");
  EXPECT_EQ(Nearest("rnu", Verbs()), "run");
}

TEST(Nearest, AllowsOneErrorForEachThreeCharacters) {
  EXPECT_EQ(Nearest("tokenise", Verbs()), "tokenize");
  EXPECT_EQ(Nearest("tokniez", Verbs()), "tokenize");
  EXPECT_EQ(Nearest("shoooo", Verbs()), "");
}

TEST(Nearest, SaysNothingAboutOtherWords) {
  EXPECT_EQ(Nearest("serve", Verbs()), "");
  EXPECT_EQ(Nearest("", Verbs()), "");
  EXPECT_EQ(Nearest(std::string(100000, 'r'), Verbs()), "");
  EXPECT_EQ(Nearest("run", {}), "");
}

}  // namespace
}  // namespace skald::cli
