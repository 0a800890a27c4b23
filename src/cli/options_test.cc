#include "cli/options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skald::cli {
namespace {

// Parses `arguments` with one group of options; returns CLI11's message, or "" if all is well.
template <typename Args>
std::string Parse(void (*add)(CLI::App&, Args&), Args& args, std::vector<std::string> arguments) {
  CLI::App app;
  add(app, args);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

std::string ParseSampling(std::vector<std::string> arguments, SamplingArgs& args) {
  return Parse(AddSamplingArgs, args, std::move(arguments));
}

TEST(SamplingArgs, DefaultsAreThoseOfTheLibrary) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({}, args), "");
  EXPECT_EQ(args.params.temperature, SamplingParams().temperature);
  EXPECT_EQ(args.params.truncation.top_k, 40);
  EXPECT_FALSE(args.seed.has_value());
}

TEST(SamplingArgs, EachFlagSetsItsField) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({"--temp",
                           "0.5",
                           "--top-k",
                           "7",
                           "--top-p=0.25",
                           "--min-p",
                           "0.125",
                           "--typical",
                           "0.75",
                           "--repeat-penalty",
                           "1.5",
                           "--presence-penalty",
                           "-0.5",
                           "--frequency-penalty",
                           "-.25",
                           "--repeat-last-n",
                           "-1",
                           "--sampling-order",
                           "llama.cpp",
                           "--seed",
                           "18446744073709551615"},
                          args),
            "");
  EXPECT_EQ(args.params.temperature, 0.5);
  EXPECT_EQ(args.params.truncation.top_k, 7);
  EXPECT_EQ(args.params.truncation.top_p, 0.25);
  EXPECT_EQ(args.params.truncation.min_p, 0.125);
  EXPECT_EQ(args.params.truncation.typical_p, 0.75);
  EXPECT_EQ(args.params.penalties.repetition, 1.5);
  EXPECT_EQ(args.params.penalties.presence, -0.5);
  EXPECT_EQ(args.params.penalties.frequency, -0.25);
  EXPECT_EQ(args.params.penalties.last_n, -1);
  EXPECT_EQ(args.params.order, SamplingOrder::kLlamaCpp);
  EXPECT_EQ(args.seed, UINT64_MAX);
}

TEST(SamplingArgs, TheLastOfSeveralWins) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({"--top-k", "7", "--top-k", "8"}, args), "");
  EXPECT_EQ(args.params.truncation.top_k, 8);
}

TEST(SamplingArgs, ASeedOfMinusOneIsDrawn) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({"--seed", "5", "--seed", "-1"}, args), "");
  EXPECT_FALSE(args.seed.has_value());
}

TEST(SamplingArgs, RefusesWhatIsNotANumber) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({"--temp", "nan"}, args), "--temp: 'nan' is not a finite number");
  EXPECT_EQ(ParseSampling({"--temp", ""}, args), "--temp: '' is not a finite number");
  EXPECT_EQ(ParseSampling({"--top-k", "4.0"}, args), "--top-k: '4.0' is not a whole number");
  EXPECT_EQ(ParseSampling({"--top-k", "-1"}, args),
            "--top-k: -1 is out of range, expected 0 to 2147483647");
  EXPECT_EQ(ParseSampling({"--seed", "-2"}, args),
            "--seed: '-2' is not a whole number; leave it out for a random seed");
  EXPECT_NE(ParseSampling({"--top-k", "5x", "--top-k", "5"}, args), "");
}

TEST(SamplingArgs, CollectsLogitBiases) {
  SamplingArgs args;
  EXPECT_EQ(ParseSampling({"--logit-bias", "13=-2.5", "--logit-bias=2=-inf"}, args), "");
  ASSERT_EQ(args.params.logit_bias.size(), 2u);
  EXPECT_EQ(args.params.logit_bias[0].token, 13);
  EXPECT_EQ(args.params.logit_bias[0].bias, -2.5f);
  EXPECT_EQ(args.params.logit_bias[1].token, 2);
  EXPECT_TRUE(std::isinf(args.params.logit_bias[1].bias));
}

TEST(SamplingArgs, RefusesMalformedLogitBiases) {
  SamplingArgs args;
  for (const char* bias : {"13", "=1", "13=", "13=inf", "13=nan", "-1=2", "a=1", "1=1e39", "1=2=3"})
    EXPECT_NE(ParseSampling({"--logit-bias", bias}, args), "") << bias;
}

TEST(StopArgs, KeepStopStringsAsTheyAre) {
  StopArgs args;
  EXPECT_EQ(
      Parse(AddStopArgs, args, {"--stop", "[a,b]", "-n", "-1", "--stop", "--json", "--stop", "{}"}),
      "");
  EXPECT_EQ(args.stop, (std::vector<std::string>{"[a,b]", "--json", "{}"}));
  EXPECT_EQ(args.max_tokens, -1);
  EXPECT_FALSE(args.ignore_eos);
}

TEST(StopArgs, BoundTheNumberOfTokens) {
  StopArgs args;
  EXPECT_EQ(Parse(AddStopArgs, args, {"-n", "0", "--ignore-eos"}), "");
  EXPECT_EQ(args.max_tokens, 0);
  EXPECT_TRUE(args.ignore_eos);
  EXPECT_EQ(Parse(AddStopArgs, args, {"-n9223372036854775807"}), "");
  EXPECT_EQ(args.max_tokens, INT64_MAX);
  EXPECT_NE(Parse(AddStopArgs, args, {"-n", "-2"}), "");
  EXPECT_NE(Parse(AddStopArgs, args, {"-n", "9223372036854775808"}), "");
  EXPECT_NE(Parse(AddStopArgs, args, {"-n", "5x"}), "");
}

TEST(EngineArgs, KnowTheirWords) {
  EngineArgs args;
  EXPECT_EQ(Parse(AddEngineArgs, args,
                  {"-t", "3", "-c", "64", "--chunk", "5", "--isa", "scalar", "--kv-type", "f32",
                   "--conventions", "llama.cpp", "--state-memory", "3G"}),
            "");
  EXPECT_EQ(args.conventions, Conventions::kLlamaCpp);
  const EngineOptions options = ToEngineOptions(args);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.context, 64);
  EXPECT_EQ(options.max_chunk, 5);
  EXPECT_EQ(options.isa, "scalar");
  EXPECT_EQ(options.kv_types, KvCacheTypes(KvCacheType::kF32));
  EXPECT_EQ(options.state_memory, int64_t{3} << 30);
  EXPECT_EQ(ToEngineOptions({}).state_memory, -1);
  EXPECT_NE(Parse(AddEngineArgs, args, {"--state-memory", "3T"}), "");
  std::string names = "best";
  for (const InstructionSet& set : InstructionSets()) {
    EXPECT_EQ(Parse(AddEngineArgs, args, {"--isa", std::string(set.name)}), "");
    EXPECT_EQ(ToEngineOptions(args).isa, set.name);
    names += "|" + std::string(set.name);
  }
  EXPECT_EQ(Parse(AddEngineArgs, args, {"--isa", "sse"}), "--isa: 'sse' is not one of " + names);
  EXPECT_NE(Parse(AddEngineArgs, args, {"-t", "-1"}), "");
  EXPECT_NE(Parse(AddEngineArgs, args, {"--chunk", "0"}), "");
}

Result<std::optional<std::string>> Read(const TextArgs& args, bool stdin_is_terminal) {
  return ReadText(args, {.input = stdin_is_terminal, .output = false, .error = false});
}

TEST(ReadText, TakesTheOneSourceThatWasGiven) {
  TextArgs args;
  args.prompt = "-x";
  EXPECT_EQ(**Read(args, false), "-x");
  args.prompt.reset();
  args.argument = "";
  EXPECT_EQ(**Read(args, false), "");
}

TEST(ReadText, IsNothingWhenNobodyWroteAnything) {
  const auto text = Read({}, true);
  ASSERT_TRUE(text.ok());
  EXPECT_FALSE(text->has_value());
}

TEST(ReadText, RefusesTwoSources) {
  TextArgs args;
  args.prompt = "a";
  args.argument = "b";
  EXPECT_EQ(Read(args, false).status().code(), ErrorCode::kInvalidArgument);
  args.argument.reset();
  args.file = "/dev/null";
  EXPECT_EQ(Read(args, false).status().code(), ErrorCode::kInvalidArgument);
}

TEST(ReadText, ReadsAFile) {
  TextArgs args;
  args.file = "/dev/null";
  EXPECT_EQ(**Read(args, true), "");
  args.file = "/nonexistent/prompt";
  EXPECT_EQ(Read(args, true).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace skald::cli
