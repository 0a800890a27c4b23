#include "cli/bench_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::cli {
namespace {

// 100 GMAC/s int8, 10 GMAC/s float and `gigabytes` GB/s.
Ceilings Machine(double gigabytes) {
  return {.int8_macs_per_second = 100e9,
          .bfloat16_macs_per_second = 50e9,
          .float_macs_per_second = 10e9,
          .read_bytes_per_second = gigabytes * 1e9,
          .threads = 2,
          .isa_name = "avx2"};
}

// A repetition that took `seconds` where `bound_seconds` were possible.
Repetition Took(double seconds, double bound_seconds, double gigabytes = 20) {
  return {.seconds = seconds, .bound_seconds = bound_seconds, .ceilings = Machine(gigabytes)};
}

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
  report.header.ceilings = {Machine(20), Machine(16), Machine(22)};
  // 50, 40 and 64 tokens a second where 100, 50 and 128 were possible.
  report.results = {{.bench_case = {.prompt_tokens = 512},
                     .work = {.int8_macs = 512e9, .float_macs = 0, .bytes = 1e9},
                     .runs = {Took(512.0 / 50, 5.12), Took(512.0 / 40, 10.24), Took(8, 4)},
                     .peer_runs = {}}};
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

TEST(BenchText, GivesMediansOfRatesAndOfSharesWithTheirSpreads) {
  // Each share is that of its own repetition: 50, 80 and 50 %. The median rate by the median
  // ceiling is something else.
  EXPECT_EQ(
      BenchText(SmallReport()),
      "skald 9.9.9, numerics 3, 2026-11-21 20:55 UTC\n"
      "A CPU; 2 of 4 cores, avx2, KV f16\n"
      "ceilings: int8 100 (100..100) GMAC/s, bf16 50 (50..50) GMAC/s, fp32 "
      "10 (10..10) GMAC/s, read 20.0 (16.0..22.0) GB/s\n"
      "medians of 3, each share beside the ceilings of its moment\n"
      "\n"
      "| model     |    size | params | threads | isa  | test  |  t/s |   min..max |    ceiling "
      "| share | min..max |\n"
      "| --------- | ------: | -----: | ------: | ---- | ----- | ---: | ---------: | ---------: "
      "| ----: | -------: |\n"
      "| tiny Q4_K | 1.0 MiB |  2.0 M |       2 | avx2 | pp512 | 50.0 | 40.0..64.0 | 100.0 int8 "
      "|  50 % | 50..80 % |\n");
}

TEST(BenchText, ComparesEachRunWithThatOfThePeerBehindIt) {
  BenchReport report = SmallReport();
  report.header.peer = "other";
  // 25, 10 and 16 tokens a second: 2, 4 and 4 times as slow as ours.
  report.results[0].peer_runs = {Took(512.0 / 25, 5.12), Took(512.0 / 10, 10.24), Took(32, 4)};
  report.results.push_back({.bench_case = {.decode_tokens = 4, .batch = 2},
                            .work = {.int8_macs = 1, .float_macs = 0, .bytes = 20e9},
                            .runs = {Took(1, 1)},
                            .peer_runs = {}});
  const std::string text = BenchText(report);
  EXPECT_NE(text.find("of its moment; in turn with: other\n"), std::string::npos);
  EXPECT_NE(text.find("| peer t/s |   min..max | share | min..max | ratio |   min..max |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("|     16.0 | 10.0..25.0 |  20 % | 12..25 % |  4.00 | 2.00..4.00 |\n"),
            std::string::npos)
      << text;
  // 8 tokens took a second; 20 GB take a second at 20 GB/s.
  EXPECT_NE(text.find("| 8.000 read | 100 % | 100..100 % |        - |          - |     - |        "
                      "- |     - |          - |\n"),
            std::string::npos)
      << text;
}

TEST(BenchText, ProfilesAddUpAndLeaveOutWhatTookNoTime) {
  BenchReport report = SmallReport();
  report.profiles = {{.bench_case = {.decode_tokens = 1},
                      .ceilings = Machine(20),
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

void ExpectParts(const std::string& json, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
}

TEST(BenchJson, HasTheFieldsOfLlamaBenchAndTheCeilingsOfEachLine) {
  BenchReport report = SmallReport();
  report.results[0].runs = {Took(8, 4, 20), Took(16, 4, 16), Took(4, 4, 32)};
  ExpectParts(BenchJson(report),
              {"[{", R"("n_prompt":512,"n_gen":0,"n_sequences":1,"n_depth":0)",
               R"("median_ts":64,"min_ts":32,"max_ts":128,"samples_ts":[64,32,128])",
               R"("bound":"int8","ceiling_ts":128,"samples_ceiling_ts":[128,128,128])",
               R"("share":0.5,"share_min":0.25,"share_max":1,"samples_share":[0.5,0.25,1])",
               R"("int8_macs_per_second":1e+11,"int8_macs_per_second_min":1e+11)",
               R"("read_bytes_per_second":2e+10,"read_bytes_per_second_min":1.6e+10)",
               R"("read_bytes_per_second_max":3.2e+10)", R"("n_threads":2)",
               R"("model_filename":"tiny.gguf")", "}]\n"});
}

TEST(BenchJson, HasTheSharesOfThePeer) {
  BenchReport report = SmallReport();
  report.results[0].runs = {Took(8, 4), Took(4, 4)};
  report.results[0].peer_runs = {Took(16, 4), Took(32, 4)};
  ExpectParts(BenchJson(report),
              {R"("peer_samples_ts":[32,16],"peer_samples_share":[0.25,0.125])",
               R"("peer_share":0.1875,"peer_share_min":0.125,"peer_share_max":0.25)",
               R"("ratio":5,"ratio_min":2,"ratio_max":8)"});
}

TEST(BenchJson, ProfilesHaveTheCeilingsBesideThem) {
  BenchReport report = SmallReport();
  report.results.clear();
  report.profiles = {{.bench_case = {.decode_tokens = 1}, .ceilings = Machine(17), .rows = {}}};
  ExpectParts(BenchJson(report), {R"("profile":[],"int8_macs_per_second":1e+11)",
                                  R"("read_bytes_per_second":1.7e+10)"});
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
