// Who is told what: views made by hand, and the texts that become of them.
#include "server/console/console_json.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/test_server.h"

namespace skald::server {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef";

std::shared_ptr<const ApiKeys> Keys() {
  return std::make_shared<const ApiKeys>(*ApiKeys::Parse(
      "key-of-alice name=alice\nkey-of-bob name=bob\nkey-of-root name=root admin\n", kSecret));
}

std::vector<TokenId> TokensOf(const std::string& text) { return *Tales().tokenizer().Encode(text); }

// A request of alice and one of bob, and what both have cached; alice also with a salt.
class ConsoleJson : public ::testing::Test {
 protected:
  ConsoleJson() : keys_(Keys()), owners_(keys_) {
    auto view = std::make_shared<EngineView>();
    const TenantId alice = keys_->Find("key-of-alice")->id;
    const TenantId bob = keys_->Find("key-of-bob")->id;
    view->requests = {
        {.id = RequestId{4},
         .label = std::to_string(alice) + "/cmpl-of-alice",
         .phase = RequestPhase::kDecode,
         .prompt_tokens = 30,
         .tenant = alice,
         .submitted_seconds = 1,
         .first_token_seconds = 3},
        {.id = RequestId{5}, .label = std::to_string(bob) + "/cmpl-of-bob", .tenant = bob}};
    AddText(keys_->CacheNamespace(alice, {}), "The fox", view.get());
    AddText(keys_->CacheNamespace(bob, {}), "A bear", view.get());
    AddText(keys_->CacheNamespace(alice, "salt"), "The garden", view.get());
    view->prefixes.token_count = 99;
    view->step = {.computing = true, .prompt_rows = 8, .rows = {{.request = RequestId{4}}}};
    view->pages = {
        .page_count = 5,
        .pages_per_cell = 1,
        .cells = {{.free = 1}, {.free = 1}, {.cached = 1}, {.held = 1, .request = 1}, {.free = 1}}};
    look_ = {.view = std::move(view), .seconds = 9};
  }

  static void AddText(uint64_t space, const std::string& text, EngineView* view) {
    auto& edges = view->prefixes.edges;
    const auto root = static_cast<int32_t>(edges.size());
    const std::vector<TokenId> tokens = TokensOf(text);
    edges.push_back({.space = space, .below = std::ssize(tokens)});
    edges.push_back(
        {.parent = root, .end = std::ssize(tokens), .below = std::ssize(tokens), .tokens = tokens});
  }
  ConsoleInput Input() const {
    return {.look = look_, .owners = owners_, .tokenizer = Tales().tokenizer()};
  }
  std::string TreeFor(std::string_view key) const { return TreeJson(Input(), *keys_->Find(key)); }
  std::string RequestsFor(std::string_view key) const {
    return RequestsJson(Input(), *keys_->Find(key));
  }

  std::shared_ptr<const ApiKeys> keys_;
  NamespaceOwners owners_;
  EngineLook look_;
};

TEST_F(ConsoleJson, TextIsForTheKeyThatOwnsIt) {
  EXPECT_EQ(Texts(TreeFor("key-of-alice"), "text"), "<|endoftext|>The fox");
  EXPECT_EQ(Texts(TreeFor("key-of-bob"), "text"), "<|endoftext|>A bear");
  EXPECT_EQ(Texts(TreeFor("key-of-root"), "text"), "") << "an admin sees that there is something";
  EXPECT_EQ(Texts(TreeFor("key-of-root"), "owner"), "alicebobsalted");
}

TEST_F(ConsoleJson, OfTheTreeAKeySeesItsOwnBranchesOnly) {
  const std::string bobs = TreeFor("key-of-bob");
  EXPECT_EQ(Texts(bobs, "owner"), "bob");
  EXPECT_EQ(Member(bobs, "tokens"), "") << "how much others have is not told either";
  EXPECT_NE(bobs.find(R"({"parent":0,)"), std::string::npos) << "numbers are of what is told";
  EXPECT_EQ(Member(TreeFor("key-of-root"), "tokens"), "99");
}

TEST_F(ConsoleJson, WithoutKeysAllTextIsEveryones) {
  const auto none = std::make_shared<const ApiKeys>(kSecret);
  const NamespaceOwners owners(none);
  const ConsoleInput input = {.look = look_, .owners = owners, .tokenizer = Tales().tokenizer()};
  EXPECT_EQ(Texts(TreeJson(input, *none->Find("")), "text"),
            "<|endoftext|>The fox<|endoftext|>A bear<|endoftext|>The garden");
}

TEST_F(ConsoleJson, RequestsAreOfTheAskingKeyOrOfAllForAdmins) {
  EXPECT_EQ(Texts(RequestsFor("key-of-alice"), "id"), "cmpl-of-alice");
  EXPECT_EQ(Texts(RequestsFor("key-of-bob"), "id"), "cmpl-of-bob");
  EXPECT_EQ(Texts(RequestsFor("key-of-root"), "id"), "cmpl-of-alicecmpl-of-bob");
  EXPECT_EQ(Texts(RequestsFor("key-of-root"), "tenant"), "alicebob");
  EXPECT_EQ(Member(RequestsFor("key-of-alice"), "first"), "3");
  EXPECT_EQ(Member(RequestsFor("key-of-bob"), "first"), "null") << "none yet";
}

TEST_F(ConsoleJson, WhoCameDuringTheStepIsThere) {
  look_.arrived = {{.id = RequestId{9}, .label = "1/new", .prompt_tokens = 7}};
  EXPECT_EQ(Texts(RequestsFor("key-of-root"), "id"), "cmpl-of-alicecmpl-of-bobnew");
  EXPECT_EQ(Texts(RequestsFor("key-of-bob"), "id"), "cmpl-of-bob");
  EXPECT_EQ(Member(StatsJson(Input()), "waiting"), "1");
}

TEST_F(ConsoleJson, EachNumberOfARequestHasItsName) {
  look_.arrived = {{.id = RequestId{9},
                    .label = "1/new",
                    .phase = RequestPhase::kPrefill,
                    .prompt_tokens = 3,
                    .cached_tokens = 4,
                    .computed_tokens = 5,
                    .output_tokens = 6,
                    .pages = 7,
                    .sequences = 2,
                    .submitted_seconds = 8,
                    .first_token_seconds = 9,
                    .last_token_seconds = 10}};
  EXPECT_TRUE(
      RequestsFor("key-of-root")
          .ends_with(R"({"number":9,"id":"new","tenant":"","state":"prefill","sequences":2,)"
                     R"("prompt":3,"cached":4,"computed":5,"output":6,"pages":7,)"
                     R"("submitted":8,"first":9,"last":10}])"))
      << RequestsFor("key-of-root");
}

TEST_F(ConsoleJson, EachNumberOfAStepAndOfThePoolHasItsName) {
  auto view = std::make_shared<EngineView>(*look_.view);
  view->step = {.number = 1,
                .began_seconds = 2,
                .decode_rows = 3,
                .prompt_rows = 4,
                .guessed_rows = 5,
                .prompt_budget = 6,
                .admitted = 7,
                .preempted = 8,
                .expected_seconds = 9,
                .rows = {{.request = RequestId{4}, .rows = 2, .reason = RowReason::kDecode}}};
  view->stats.pages_free = 10;
  view->stats.pages_held = 11;
  view->stats.pages_cached = 12;
  view->stats.window_pages_free = 13;
  view->stats.window_pages_total = 14;
  view->stats.states_free = 15;
  view->stats.states_cached = 16;
  view->stats.states_total = 17;
  look_.view = std::move(view);
  const std::string step = StepJson(Input());
  for (const char* part :
       {R"({"number":1,"computing":false,"began":2,"decode_rows":3,"prompt_rows":4,)"
        R"("guessed_rows":5,"prompt_budget":6,)",
        R"("admitted":7,"preempted":8,"expected":9,)", R"("rows":[[4,2,"decode"]]})"}) {
    EXPECT_NE(step.find(part), std::string::npos) << part << " in " << step;
  }
  const std::string stats = StatsJson(Input());
  EXPECT_NE(stats.find(R"("free":10,"held":11,"cached":12,"window_free":13,"window_total":14,)"
                       R"("states_free":15,"states_cached":16,"states_total":17,)"),
            std::string::npos)
      << stats;
}

TEST_F(ConsoleJson, EqualPagesAreARun) {
  EXPECT_EQ(PagesJson(Input()),
            R"({"count":5,"per_cell":1,"runs":[[2,1,0,0,0,0],[1,0,1,0,0,0],[1,0,0,1,0,5],)"
            R"([1,1,0,0,0,0]]})");
}

TEST_F(ConsoleJson, AStepHasACeilingWhereTheMachineWasMeasured) {
  ConsoleInput input = Input();
  input.work = {.int8_macs = 4e9, .bytes = 3e9};
  EXPECT_EQ(Member(StepJson(input), "bytes"), "3e+09");
  EXPECT_EQ(Member(StepJson(input), "bound"), "");
  input.ceilings = {.int8_macs_per_second = 1e9,
                    .bfloat16_macs_per_second = 1,
                    .float_macs_per_second = 1,
                    .read_bytes_per_second = 1e9};
  EXPECT_EQ(Member(StepJson(input), "bound"), "4");
  EXPECT_EQ(Member(StepJson(input), "bound_by"), "\"int8\"");
}

}  // namespace
}  // namespace skald::server
