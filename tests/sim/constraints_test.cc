// What the engine promises about constraints, where the drawn workloads seldom come.

#include "sim/constraints.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/simulation.h"

namespace skald::sim {
namespace {

Workload Server() {
  Workload workload;
  workload.core = {.context = 256, .max_rows = 64, .max_chunk = 64, .max_running = 8};
  workload.page_count = 200;
  workload.step_seconds = 1e-3;
  workload.row_seconds = 1e-5;
  return workload;
}

Client Ask(const std::string& gbnf, uint64_t seed) {
  Client client;
  client.request.prompt = {1, 2, static_cast<TokenId>(seed % kVocab),
                           static_cast<TokenId>(seed / kVocab % kVocab)};
  client.request.sampling = {.temperature = 1, .seed = seed};
  client.request.stop = {.max_tokens = 30};
  client.request.constraint = ConstraintOver(gbnf);
  return client;
}

const FinishedEvent& EndOf(const Outcome& outcome, size_t client) {
  return *outcome.events[client].back().As<FinishedEvent>();
}

// Each beam must be asked for more continuations than end tokens alone would make necessary.
TEST(Constraints, BeamsGoOnBesideTextsThatAnyTokenEnds) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Workload workload = Server();
    Client client = Ask(R"(root ::= "a" | "b" | "x" | "aa" | "c" root)", seed);
    client.request.beam_search = {
        .beams = static_cast<int32_t>(1 + seed % 4), .length_penalty = 2, .stop = BeamStop::kNever};
    workload.clients = {std::move(client)};
    EXPECT_EQ(RunWorkload(workload, Fault::kNone).wrong, "") << seed;
  }
}

TEST(Constraints, AnEmptyTextEndsBeforeItsFirstToken) {
  for (const int32_t beams : {0, 3}) {
    Workload workload = Server();
    Client client = Ask(R"(root ::= "")", 1);
    client.request.n = 2;
    client.request.beam_search.beams = beams;
    workload.clients = {std::move(client)};
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(outcome.wrong, "");
    EXPECT_EQ(outcome.tokens, 0);
    EXPECT_EQ(EndOf(outcome, 0).reason, FinishReason::kStop);
  }
}

// So many rules that each byte may be part of that a bound is met.
std::string TooAmbiguous(const std::string& begin) {
  constexpr int kRules = 2500;
  std::string gbnf = "root ::= " + begin + " (x0";
  for (int i = 1; i < kRules; ++i) gbnf += " | x" + std::to_string(i);
  gbnf += ")\n";
  for (int i = 0; i < kRules; ++i) {
    const std::string name = "x" + std::to_string(i);
    const std::string odd = i % 2 == 0 ? "b" : "c";
    gbnf += name + " ::= \"a\" " + name + " \"" + odd + "\" | \"a\" \"x\" \"" + odd + "\"{1," +
            std::to_string(i + 1) + "}\n";
  }
  return gbnf;
}

// Found while a mask is made, while a token is looked at, and behind a token.
TEST(Constraints, ATextThatIsTooAmbiguousEndsAloneWithAnError) {
  for (const char* begin : {"", R"("ab")"}) {
    for (const auto masks : {engine::MaskRule::kAlways, engine::MaskRule::kWhereItTells}) {
      for (const int32_t beams : {0, 2}) {
        Workload workload = Server();
        workload.clients = {Ask(R"(root ::= [abcx]*)", 1), Ask(TooAmbiguous(begin), 2),
                            Ask(R"(root ::= "ab"*)", 3)};
        workload.clients[1].request.beam_search.beams = beams;
        workload.masks = masks;
        const Outcome outcome = RunWorkload(workload, Fault::kNone);
        const FinishedEvent& end = EndOf(outcome, 1);
        EXPECT_EQ(end.reason, FinishReason::kError);
        EXPECT_TRUE(end.status.message().starts_with("grammar_too_complex"))
            << end.status.message();
        EXPECT_NE(EndOf(outcome, 0).reason, FinishReason::kError);
        EXPECT_NE(EndOf(outcome, 2).reason, FinishReason::kError);
      }
    }
  }
}

// Forced bytes cost rows beside others, not steps.
TEST(Constraints, ForcedTextComesInFewerSteps) {
  Workload workload = Server();
  workload.clients = {Ask(R"(root ::= "abcxabcxabcxabcxabcxabcx" [ab])", 4)};
  const Outcome plain = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(plain.wrong, "");
  workload.core.least_draft = workload.core.most_draft = 4;
  workload.core.max_draft_rows = 8;
  for (const Guessing guessing : {Guessing::kNgram, Guessing::kForced}) {
    workload.guessing = guessing;
    if (guessing == Guessing::kForced) workload.core.drafts = engine::DraftRule::kConstrained;
    const Outcome guessed = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(guessed.wrong, "");
    EXPECT_EQ(plain.tokens, guessed.tokens);
    EXPECT_LT(guessed.steps, plain.steps);
  }
}

// As a call of a tool is: letters between control tokens. The letter has one spelling: the first
// step computes the prompt, the second all that is forced.
TEST(Constraints, ForcedTextGoesOnBehindControlTokens) {
  Workload workload = Server();
  workload.clients = {Ask(R"(root ::= "ccc" <[5]> <[5]> "ccc" <[5]> "cc" [ab])", 4)};
  workload.guessing = Guessing::kForced;
  workload.core.drafts = engine::DraftRule::kConstrained;
  workload.core.least_draft = workload.core.most_draft = 16;
  workload.core.max_draft_rows = 16;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.tokens, 12);
  EXPECT_EQ(outcome.steps, 2);
}

// Who guesses forced text alone keeps no rows for texts without a constraint, be it that somebody
// had a guess for them.
TEST(Constraints, OnlyWhatIsConstrainedIsGuessedWithoutSpeculation) {
  int64_t steps[2];
  for (const auto rule : {engine::DraftRule::kConstrained, engine::DraftRule::kAll}) {
    Workload workload = Server();
    workload.clients = {Ask(R"(root ::= [abcx]{40})", 4)};
    workload.clients[0].request.constraint = std::nullopt;
    workload.guessing = Guessing::kScripted;
    workload.core.least_draft = workload.core.most_draft = 4;
    workload.core.max_draft_rows = 8;
    workload.core.drafts = rule;
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(outcome.wrong, "");
    steps[rule == engine::DraftRule::kAll ? 1 : 0] = outcome.steps;
  }
  EXPECT_GT(steps[0], steps[1]);
}

}  // namespace
}  // namespace skald::sim
