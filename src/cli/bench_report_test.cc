#include "cli/bench_report.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

// A machine of 100 GMAC/s int8, 10 GMAC/s float and 20 GB/s.
BenchReport SmallReport() {
  BenchReport report;
  report.header.model.name = "tiny";
  report.header.model.weights_type = "Q4_K";
  report.header.model.architecture = "llama";
  report.header.model.path = "tiny.gguf";
  report.header.model.file_bytes = 1 << 20;
  report.header.model.parameter_count = 2'000'000;
  report.header.cpu = "A CPU";
  report.header.cores = 4;
  report.header.kv_type = "f16";
  report.header.date = "2026-11-21 20:55 UTC";
  report.header.version = "9.9.9";
  report.header.repetitions = 3;
  report.header.ceilings = {.int8_macs_per_second = 100e9,
                            .float_macs_per_second = 10e9,
                            .read_bytes_per_second = 20e9,
                            .threads = 2,
                            .isa_name = "avx2"};
  report.results = {{.bench_case = {.prompt_tokens = 512},
                     .work = {.int8_macs = 512e9, .float_macs = 0, .bytes = 1e9},
                     .tokens_per_second = {50, 40, 60},
                     .peer_tokens_per_second = {}}};
  return report;
}

TEST(BenchText, SaysWhatAStateTakes) {
  BenchReport report = SmallReport();
  EXPECT_EQ(BenchText(report).find("state of recurrent layers"), std::string::npos);
  report.header.model.state_bytes = 63 << 20;
  EXPECT_NE(BenchText(report).find("\nstate of recurrent layers: 63.0 MiB a sequence\n"),
            std::string::npos)
      << BenchText(report);
}

TEST(BenchText, GivesTheMedianItsSpreadAndTheShareOfTheCeiling) {
  // 512 GMAC at 100 GMAC/s take 5.12 s, so the ceiling is 100 tokens a second.
  EXPECT_EQ(
      BenchText(SmallReport()),
      "skald 9.9.9, numerics 2, 2026-11-21 20:55 UTC\n"
      "A CPU; 2 of 4 cores, avx2, KV f16\n"
      "ceilings: int8 100 GMAC/s, fp32 10 GMAC/s, read 20.0 GB/s\n"
      "medians of 3\n"
      "\n"
      "| model     |    size | params | threads | isa  | test  |  t/s |   min..max |    ceiling "
      "| share |\n"
      "| --------- | ------: | -----: | ------: | ---- | ----- | ---: | ---------: | ---------: "
      "| ----: |\n"
      "| tiny Q4_K | 1.0 MiB |  2.0 M |       2 | avx2 | pp512 | 50.0 | 40.0..60.0 | 100.0 int8 "
      "|  50 % |\n");
}

TEST(BenchText, ComparesMediansWithThePeerWhereItHasTheCase) {
  BenchReport report = SmallReport();
  report.header.peer = "other";
  report.results[0].peer_tokens_per_second = {20, 30, 25};
  report.results.push_back({.bench_case = {.decode_tokens = 4, .batch = 2},
                            .work = {.int8_macs = 1, .float_macs = 0, .bytes = 20e9},
                            .tokens_per_second = {8},
                            .peer_tokens_per_second = {}});
  const std::string text = BenchText(report);
  EXPECT_NE(text.find("medians of 3; in turn with: other\n"), std::string::npos);
  EXPECT_NE(text.find("|     25.0 | 20.0..30.0 |  2.00 |\n"), std::string::npos) << text;
  // 8 tokens took a second; 20 GB take a second at 20 GB/s.
  EXPECT_NE(text.find("| 8.000 read | 100 % |        - |          - |     - |\n"),
            std::string::npos)
      << text;
}

TEST(BenchText, ProfilesAddUpAndLeaveOutWhatTookNoTime) {
  BenchReport report = SmallReport();
  report.profiles = {{.bench_case = {.decode_tokens = 1},
                      .rows = {{.operation = "matmul qkv",
                                .seconds = 0.3,
                                .work = {.int8_macs = 15e9, .float_macs = 0, .bytes = 1.5e9}},
                               {.operation = "attention",
                                .seconds = 0.1,
                                .work = {.int8_macs = 0, .float_macs = 0, .bytes = 1e9}},
                               {.operation = "embed", .seconds = 0, .work = {}}}}};
  const std::string text = BenchText(report);
  EXPECT_NE(text.find("profile of tg1\n"), std::string::npos);
  EXPECT_NE(text.find("| matmul qkv | 300 ms |  75.0 % | 15.000 | 1500.00 |   50.0 |  5.0 | int8  "
                      "|  50 % |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| attention  | 100 ms |  25.0 % |      - | 1000.00 |      - | 10.0 | read  "
                      "|  50 % |\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("embed"), std::string::npos);
  EXPECT_NE(text.find("| step       | 400 ms |   100 % |"), std::string::npos) << text;
}

TEST(BenchJson, HasTheFieldsOfLlamaBenchAndTheCeilings) {
  const std::string json = BenchJson(SmallReport());
  for (const char* expected :
       {"[{", R"("n_prompt":512,"n_gen":0,"n_sequences":1,"n_depth":0)", R"("avg_ts":50)",
        R"("samples_ts":[50,40,60])", R"("median_ts":50,"min_ts":40,"max_ts":60)",
        R"("ceiling_ts":100,"bound":"int8","share":0.5)", R"("n_threads":2)",
        R"("read_bytes_per_second":2e+10)", R"("model_filename":"tiny.gguf")", "}]\n"}) {
    EXPECT_NE(json.find(expected), std::string::npos) << expected << " in " << json;
  }
}

TEST(MarkdownTable, EscapesPipesAndAligns) {
  EXPECT_EQ(MarkdownTable({{"a", "number"}, {"x|y", "1"}}, {1}),
            "| a    | number |\n"
            "| ---- | -----: |\n"
            "| x\\|y |      1 |\n");
}

TEST(CpuName, IsTheFirstModelName) {
  EXPECT_EQ(CpuName("processor\t: 0\nmodel name\t: Some CPU 9000 \nmodel name : other\n"),
            "Some CPU 9000");
  EXPECT_EQ(CpuName("model name\t: last"), "last");
  EXPECT_EQ(CpuName("model name\t:\nflags : fpu\n"), "unknown CPU");
  EXPECT_EQ(CpuName("model name"), "unknown CPU");
  EXPECT_EQ(CpuName(""), "unknown CPU");
}

}  // namespace
}  // namespace skald::cli
