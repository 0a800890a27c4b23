#include "cli/trace_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace skald::cli {
namespace {

// What became of reading such a file, and the lines of it.
struct Read {
  Status status;
  int64_t headers = 0;
  int64_t records = 0;
};
Read ReadText(const std::string& text) {
  // Tests run at the same time, each in a process of its own.
  const std::string path = testing::TempDir() + std::to_string(getpid()) + ".record.jsonl";
  std::ofstream(path, std::ios::binary) << text;
  Read read;
  read.status = ReadTrace(
      path,
      [&](const TraceHeader&) {
        ++read.headers;
        return Ok();
      },
      [&](const TraceRecord&) {
        ++read.records;
        return Ok();
      });
  return read;
}

const std::string kHeader = TraceHeaderLine({.program = "skald", .model = "tales"}) + "\n";
const std::string kLost = TraceLine({.seconds = 1, .body = TraceLost{3}}, {}) + "\n";

std::string ErrorOf(const std::string& text) {
  const std::string message = ReadText(text).status.message();
  const size_t path = message.find("record.jsonl: ");
  return path == std::string::npos ? message : message.substr(path + 14);
}

TEST(ReadTrace, GivesEveryLine) {
  const Read read = ReadText(kHeader + kLost + R"({"event":"sneezed","time":2})" + "\n" + kLost);
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.headers, 1);
  EXPECT_EQ(read.records, 2);
}

// A block ends somewhere in a line, a line with every length at the end of one.
TEST(ReadTrace, TakesLinesAcrossBlocks) {
  std::string text = kHeader;
  for (int i = 0; i < 3000; ++i)
    text += TraceLine({.seconds = 1, .body = TraceLost{i}},
                      std::vector<std::string>{std::string(static_cast<size_t>(i % 97), 'x')}) +
            "\n";
  const Read read = ReadText(text);
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.records, 3000);
}

TEST(ReadTrace, NamesTheLine) {
  EXPECT_EQ(ErrorOf(""), "line 1: the file is empty");
  EXPECT_EQ(ErrorOf("{}\n"), "line 1: no line of a record: no field 'event'");
  EXPECT_EQ(ErrorOf(kHeader + kLost + "[1]\n" + kLost), "line 3: no JSON object");
  EXPECT_EQ(ErrorOf(kHeader + R"({"event":"lost","time":1})" + "\n"),
            "line 2: lost: no field 'count'");
  EXPECT_EQ(ErrorOf(kHeader + std::string(kTraceLineMax + (1 << 17), ' ')),
            "line 2: longer than 1.0 MiB, no line of a record");
}

// Who was ended in the middle of a line left those before it.
TEST(ReadTrace, LeavesACutLineOut) {
  for (size_t cut = 1; cut < kLost.size() - 1; ++cut) {
    const Read read = ReadText(kHeader + kLost + kLost.substr(0, cut));
    EXPECT_TRUE(read.status.ok()) << cut << read.status.message();
    EXPECT_EQ(read.records, 1);
  }
}

TEST(SummaryText, ShowsWhatIsNotKnownAsADash) {
  RunSummary run = {.request_count = 2, .output_tokens = 3, .lost_events = 7, .seconds = 2};
  run.requests.push_back({.request = 1, .prompt_tokens = 40, .ttft_seconds = 0.25});
  run.requests[0].end = TraceEnd::kLength;
  const std::string text = SummaryText({.program = "skald 1", .model = "tales"}, run);
  EXPECT_NE(text.find("7 events are lost"), std::string::npos) << text;
  EXPECT_NE(text.find("250 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("length"), std::string::npos) << text;
  EXPECT_NE(text.find("and 1 more"), std::string::npos) << text;
}

}  // namespace
}  // namespace skald::cli
