#include "server/api_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::server {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef";

ApiKeys Keys(std::string_view lines) {
  auto keys = ApiKeys::Parse(lines, kSecret);
  EXPECT_TRUE(keys.ok()) << keys.status().message();
  return *std::move(keys);
}

std::string ErrorOf(std::string_view lines) {
  const auto keys = ApiKeys::Parse(lines, kSecret);
  return keys.ok() ? "" : keys.status().message();
}

TEST(ApiKeys, RefusesAFileThatIsNone) {
  for (const char* lines :
       {"", "# only a remark\n", "short\n", "with blank in it\n", "tab\tkey12\n"})
    EXPECT_FALSE(ApiKeys::Parse(lines, kSecret).ok()) << lines;
  EXPECT_EQ(ApiKeys::Parse("12345678\nabcdefgh", kSecret)->size(), 2u);
}

TEST(ApiKeys, GivesEachTenantAndSaltANamespaceOfItsOwn) {
  const ApiKeys keys(kSecret);
  const uint64_t base = keys.CacheNamespace(7, "");
  EXPECT_EQ(base, keys.CacheNamespace(7, ""));
  EXPECT_NE(base, keys.CacheNamespace(1, ""));
  EXPECT_NE(base, keys.CacheNamespace(kEveryone, ""));
  EXPECT_NE(base, keys.CacheNamespace(7, "s"));
  EXPECT_NE(keys.CacheNamespace(7, "s"), keys.CacheNamespace(1, "s"));
  EXPECT_NE(base, ApiKeys("another secret..").CacheNamespace(7, ""));
}

TEST(ApiKeys, ReadsWhatAKeyMayDo) {
  const ApiKeys keys = Keys(
      "# KEY SETTINGS\n"
      "an-old-key\n"
      "  sk-all-of-them\tname=alice share=3 priority=-10 running=8 waiting=64 tokens=50000 "
      "rpm=60 tpm=9000 admin  \r\n");
  const auto old = keys.Find("an-old-key");
  EXPECT_EQ(old->name, "line-2");
  EXPECT_EQ(old->rights, TenantRights());
  const auto alice = keys.Find("sk-all-of-them");
  EXPECT_EQ(alice->name, "alice");
  EXPECT_EQ(alice->rights, (TenantRights{.share = 3,
                                         .priority = -10,
                                         .running = 8,
                                         .waiting = 64,
                                         .tokens = 50'000,
                                         .requests_per_minute = 60,
                                         .tokens_per_minute = 9000,
                                         .admin = true}));
  EXPECT_NE(alice->id, old->id);
  EXPECT_EQ(keys.Find("name=alice"), nullptr);
  EXPECT_EQ(keys.Find("sk-all-of-them\tname=alice"), nullptr);
}

TEST(ApiKeys, LetsEveryoneDoEverythingWhereThereAreNoKeys) {
  const auto everyone = ApiKeys(kSecret).Find("");
  EXPECT_EQ(everyone->id, kEveryone);
  EXPECT_TRUE(everyone->rights.admin);
  EXPECT_LT(everyone->rights.priority, -1'000'000);
}

TEST(ApiKeys, KeepsATenantWhenOtherLinesComeAndGo) {
  const ApiKeys before = Keys("first-key\nsecond-key name=bob\n");
  const ApiKeys after = Keys("a-new-key\nanother-key-of-bob name=bob\n\nfirst-key\n");
  EXPECT_EQ(after.Find("first-key")->id, before.Find("first-key")->id);
  EXPECT_EQ(after.Find("another-key-of-bob")->id, before.Find("second-key")->id);
  EXPECT_EQ(after.Find("second-key"), nullptr);
}

TEST(ApiKeys, HasOneTenantForKeysOfOneName) {
  const ApiKeys keys = Keys("first-key name=bob share=2\nsecond-key name=bob share=2\n");
  EXPECT_EQ(keys.tenants().size(), 1u);
  EXPECT_EQ(keys.Find("first-key"), keys.Find("second-key"));
  EXPECT_EQ(ErrorOf("first-key name=bob share=2\nsecond-key name=bob\n"),
            "line 2: its settings are not those of the row of the same key or name above");
  EXPECT_EQ(ErrorOf("first-key name=bob\nfirst-key name=eve\n"),
            "line 2: its key stands above with another name");
  EXPECT_EQ(Keys("first-key\nfirst-key\n").size(), 1u);
}

TEST(ApiKeys, SaysInWhichLineWhatIsWrong) {
  constexpr std::string_view kExpected =
      "expected name=, share=, priority=, running=, waiting=, tokens=, rpm=, tpm= or admin";
  const auto third = [](std::string_view row) {
    return ErrorOf("# keys\ngood-key\n" + std::string(row) + "\n");
  };
  EXPECT_EQ(third("shorty"), "line 3: it is not a key of 8 to 512 visible ASCII characters");
  EXPECT_EQ(third("the-key-x wheel"), "line 3: column 2: " + std::string(kExpected));
  EXPECT_EQ(third("the-key-x admin=1"), "line 3: column 2: " + std::string(kExpected));
  EXPECT_EQ(third("the-key-x admin name"), "line 3: column 3: " + std::string(kExpected));
  EXPECT_EQ(third("the-key-x share=0"),
            "line 3: column 2: share is not a whole number from 1 to 100");
  EXPECT_EQ(third("the-key-x share=101"),
            "line 3: column 2: share is not a whole number from 1 to 100");
  EXPECT_EQ(third("the-key-x rpm=1.5"),
            "line 3: column 2: rpm is not a whole number from 1 to 1000000000");
  EXPECT_EQ(third("the-key-x priority=-1000001"),
            "line 3: column 2: priority is not a whole number from -1000000 to 1000000");
  EXPECT_EQ(third("the-key-x tpm=5 tpm=6"), "line 3: column 3: tpm is given twice");
  EXPECT_EQ(third("the-key-x name=a/b"),
            "line 3: column 2: name is not 1 to 64 letters, digits, '.', '_', '-' or '@'");
  EXPECT_FALSE(third("the-key-x name=").empty());
  EXPECT_TRUE(third("the-key-x name=" + std::string(64, 'a')).empty());
  EXPECT_FALSE(third("the-key-x name=" + std::string(65, 'a')).empty());
}

// Two halves of a key with a blank between them, say.
TEST(ApiKeys, TellsNoWordOfAKeyInAnError) {
  for (const char* line : {"sk-halfone hAlf2tWo\n", "sk-halfone hAlf2tWo==\n", "hAlf2tW\n",
                           "sk-halfone name=hAlf2tWo/\n", "sk-halfone share=hAlf2tWo\n"})
    EXPECT_EQ(ErrorOf(line).find("hAlf"), std::string::npos) << line;
}

}  // namespace
}  // namespace skald::server
