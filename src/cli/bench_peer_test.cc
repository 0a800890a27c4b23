#include "cli/bench_peer.h"

#include <gtest/gtest.h>

#include "cli/subprocess.h"

namespace skald::cli {
namespace {

constexpr BenchCase kPrefill = {.prompt_tokens = 512};
constexpr BenchCase kDecode = {.decode_tokens = 128, .depth = 64};

TEST(PeerCommand, AppendsTheOptionsOfLlamaBench) {
  const Peer peer = {.command = "llama-bench -fa 1", .model_path = "it's.gguf", .threads = 2};
  EXPECT_EQ(PeerCommand(peer, kPrefill),
            "llama-bench -fa 1 -m 'it'\\''s.gguf' -p 512 -n 0 -t 2 -r 1 -o json");
  EXPECT_EQ(PeerCommand(peer, kDecode),
            "llama-bench -fa 1 -m 'it'\\''s.gguf' -p 0 -n 128 -t 2 -r 1 -o json -d 64");
}

TEST(PeerHasCase, OneSequenceOnly) {
  EXPECT_TRUE(PeerHasCase(kPrefill));
  EXPECT_FALSE(PeerHasCase({.decode_tokens = 1, .batch = 2}));
}

TEST(PeerRate, FindsTheCase) {
  const std::string output = R"(some noise
[
  {"n_prompt": 1, "n_gen": 0, "avg_ts": 1.0},
  {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 123.5}
]
)";
  const Result<double> rate = PeerRate(output, kPrefill);
  ASSERT_TRUE(rate.ok()) << rate.status().message();
  EXPECT_EQ(*rate, 123.5);
  // An integer is a number, too; a program without depths says nothing of them.
  const Result<double> decode = PeerRate(R"([{"n_prompt":0,"n_gen":128,"avg_ts":9}])", kDecode);
  ASSERT_TRUE(decode.ok());
  EXPECT_EQ(*decode, 9);
}

TEST(PeerRate, SaysWhatIsMissing) {
  const auto message = [](std::string_view output) {
    return PeerRate(output, kPrefill).status().message();
  };
  EXPECT_EQ(message(""), "--against: expected a JSON array on stdout, found nothing");
  EXPECT_EQ(message("usage: x\n"), "--against: expected a JSON array on stdout, found 'usage: x'");
  EXPECT_NE(message("[{]").find("is not JSON"), std::string::npos);
  for (const char* other : {"[]", "[1]", R"([{"n_prompt":512,"n_gen":0}])",
                            R"([{"n_prompt":512,"n_gen":0,"avg_ts":0}])",
                            R"([{"n_prompt":512,"n_gen":0,"avg_ts":"a"}])",
                            R"([{"n_prompt":512,"n_gen":0,"n_depth":7,"avg_ts":5}])",
                            R"([{"n_prompt":511,"n_gen":0,"avg_ts":5}])"}) {
    EXPECT_NE(message(other).find("no avg_ts above 0 for n_prompt 512"), std::string::npos)
        << other;
  }
}

TEST(RunPeer, ReadsTheOutputOfAProgram) {
  // The appended options become arguments of the shell function's no-op.
  const Peer peer = {.command = R"(echo '[{"n_prompt":512,"n_gen":0,"avg_ts":7}]'; true)",
                     .model_path = "m",
                     .threads = 1};
  const Result<double> rate = RunPeer(peer, kPrefill);
  ASSERT_TRUE(rate.ok()) << rate.status().message();
  EXPECT_EQ(*rate, 7);
}

TEST(RunPeer, ReportsAFailureWithWhatWasSaid) {
  const Peer peer = {
      .command = "echo no such model >&2; exit 3; true", .model_path = "m", .threads = 1};
  const Result<double> rate = RunPeer(peer, kPrefill);
  ASSERT_FALSE(rate.ok());
  EXPECT_EQ(rate.status().code(), ErrorCode::kIo);
  EXPECT_NE(rate.status().message().find("exit code 3; it said last: 'no such model'"),
            std::string::npos)
      << rate.status().message();
}

TEST(RunInShell, SeparatesOutputErrorsAndExitCode) {
  const Result<ProgramOutput> ended = RunInShell("echo out; echo err >&2; cat; exit 5");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->output, "out\n");
  EXPECT_EQ(ended->errors, "err\n");
  EXPECT_EQ(ended->exit_code, 5);
}

TEST(RunInShell, KeepsTheEndOfLongErrors) {
  const Result<ProgramOutput> ended =
      RunInShell("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->errors.size(), kProgramErrorsKept);
  EXPECT_TRUE(ended->errors.ends_with("line 1999\n"));
}

TEST(RunInShell, StopsAProgramThatPrintsForEver) {
  const Result<ProgramOutput> ended = RunInShell("yes");
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.status().code(), ErrorCode::kIo);
}

TEST(RunInShell, ReportsASignalAsAShellDoes) {
  const Result<ProgramOutput> ended = RunInShell("kill -9 $$");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->exit_code, 137);
}

}  // namespace
}  // namespace skald::cli
