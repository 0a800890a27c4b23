#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/json_tree.h"
#include "skald/trace_view.h"

namespace skald {
namespace {

TraceRecord At(double seconds, TraceBody body, uint64_t request = 0, int32_t sequence = 0) {
  return {.event = {.seconds = seconds, .request = request, .sequence = sequence, .body = body}};
}

// Request 1 waits, is computed in two steps, loses its pages and comes back; request 2 is cancelled
// while it waits; a third goes on behind the record.
std::vector<TraceRecord> Story() {
  TraceRecord fox = At(1.3, TraceToken{.token = 5, .p_drawn = 0.5, .candidates = 2}, 1);
  fox.texts = {" \"fox\""};
  return {
      At(1.0, TraceQueued{.prompt_tokens = 40}, 1),
      At(1.0, TraceQueued{.prompt_tokens = 7}, 2),
      At(1.01, TraceWaits{WaitReason::kPlaces}, 2),
      At(1.1, TracePlan{.step = 0, .prompt_rows = 30, .seconds = 0.05}),
      At(1.11, TraceBrought{.from = 2, .to = 10, .records = 1, .bytes = 64, .seconds = 0.1}, 1),
      At(1.11, TraceAdmitted{.cached = 10, .disk = 8, .length = 40}, 1),
      At(1.12, TraceRows{.first = 10, .count = 30, .reason = RowReason::kRank}, 1),
      At(1.13, TraceForward{.rows = 30, .logit_rows = 1}),
      At(1.2, TraceComputed{}),
      fox,
      At(1.31, TraceStep{.step = 0, .rows = 30, .prompt_rows = 30, .seconds = 0.26}),
      At(1.32, TraceEnded{TraceEnd::kCancelled}, 2),
      At(1.32, TraceFinished{.reason = TraceEnd::kCancelled}, 2),
      At(1.33, TracePlan{.step = 1, .decode_rows = 1}),
      At(1.34, TracePreempted{.reason = PreemptReason::kPages, .computed = 40, .length = 41}, 1),
      At(1.35, TraceStep{.step = 1}),
      At(1.4, TraceResumed{.cached = 32, .length = 41}, 1),
      At(1.5, TraceGuess{.tokens = 4, .kept = 3}, 1),
      At(1.5, TraceToken{.token = 6, .index = 1}, 1),
      At(1.7, TraceToken{.token = 7, .index = 2}, 1),
      At(1.7, TraceEnded{TraceEnd::kLength}, 1),
      At(1.7, TraceFinished{.reason = TraceEnd::kLength, .prompt_tokens = 40}, 1),
      At(1.8, TraceQueued{.prompt_tokens = 3}, 3),
      At(1.9, TraceLost{4}),
      At(2.5, TraceRepetition{.prompt_tokens = 16, .batch = 1, .seconds = 0.4}),
      At(2.6, TracePlan{.step = 1})};
}

std::string Drawn(const std::vector<TraceRecord>& records) {
  PerfettoTrace drawing({.command = "run", .model = "a \"model\""});
  std::string text;
  for (const TraceRecord& record : records) {
    EXPECT_TRUE(drawing.Add(record).ok());
    text += drawing.TakePart();
  }
  return text + drawing.Finish();
}

// What the format asks for: every event a phase, a time and a track; times in order; slices that
// nest and end; a name for each track that has any.
class Checked {
 public:
  explicit Checked(const std::string& text) {
    const Result<JsonTree> tree = JsonTree::Parse(text);
    EXPECT_TRUE(tree.ok()) << tree.status().message();
    if (!tree.ok()) return;
    const std::optional<JsonValue> events = tree->root().Find("traceEvents");
    EXPECT_TRUE(events.has_value());
    if (!events) return;
    for (const JsonValue event : *events) Take(event);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << track.second;
    for (const auto& [track, names] : slices) EXPECT_TRUE(tracks.contains(track)) << track.second;
  }

  using Track = std::pair<int64_t, int64_t>;
  std::map<Track, std::string> tracks;
  std::map<Track, std::vector<std::string>> slices;  // names, by begin
  std::map<Track, std::vector<std::string>> instants;
  std::vector<std::tuple<std::string, int64_t, double, int64_t>> arrows;  // track, time, id
  int64_t counters = 0;

 private:
  static std::string Text(const JsonValue& event, const char* name) {
    const auto value = event.Find(name);
    EXPECT_TRUE(value && value->AsString()) << name;
    return value && value->AsString() ? std::string(*value->AsString()) : "";
  }
  void Take(const JsonValue& event) {
    const Track track = {*event.Find("pid")->AsInt(), *event.Find("tid")->AsInt()};
    const double time = *event.Find("ts")->AsNumber();
    const std::string phase = Text(event, "ph");
    if (phase == "s" || phase == "f") {
      arrows.push_back({phase, track.second, time, *event.Find("id")->AsInt()});
      return;
    }
    EXPECT_GE(time, last_);
    last_ = time;
    if (phase == "M" && Text(event, "name") == "thread_name") {
      tracks[track] = Text(*event.Find("args"), "name");
    } else if (phase == "B") {
      slices[track].push_back(Text(event, "name"));
      open_[track].push_back(Text(event, "name"));
    } else if (phase == "E") {
      ASSERT_FALSE(open_[track].empty());
      open_[track].pop_back();
    } else if (phase == "i") {
      EXPECT_EQ(Text(event, "s"), "t");
      instants[track].push_back(Text(event, "name"));
    } else if (phase == "C") {
      ++counters;
      const std::optional<JsonValue> values = event.Find("args");
      ASSERT_TRUE(values.has_value());
      for (const JsonValue value : *values) EXPECT_TRUE(value.AsNumber());
    } else {
      EXPECT_EQ(phase, "M");
    }
  }

  double last_ = 0;
  std::map<Track, std::vector<std::string>> open_;
};

using Names = std::vector<std::string>;

TEST(PerfettoTrace, IsWhatTheFormatAsksFor) {
  Checked drawn(Drawn(Story()));
  EXPECT_EQ((drawn.tracks[{1, 1}]), "steps");
  EXPECT_EQ((drawn.tracks[{2, 1}]), "request 1");
  EXPECT_EQ((drawn.tracks[{2, 3}]), "request 3");
  EXPECT_EQ((drawn.slices[{1, 1}]),
            (Names{"step 0", "plan", "forward", "sample", "step 1", "plan", "step 1", "plan"}));
  EXPECT_EQ((drawn.slices[{2, 1}]), (Names{"waiting", "prefill: rank", "preempted: pages"}));
  EXPECT_EQ((drawn.instants[{2, 1}]), (Names{"brought", "admitted", " \"fox\"", "resumed", "guess",
                                             "token 6", "token 7", "ended: length"}));
  EXPECT_EQ((drawn.instants[{2, 2}]), (Names{"waits: places", "ended: cancelled"}));
  EXPECT_EQ(drawn.counters, 4);
}

TraceRecord PagesAt(double seconds, PageAct act, std::vector<int32_t> ids, uint64_t request) {
  TracePages pages = {.act = act, .count = std::ssize(ids)};
  for (const int32_t id : ids) pages.ids.ids[pages.ids.count++] = id;
  return At(seconds, pages, request);
}

// From the slice that computed a page to the one that goes on from it: one arrow for all pages of a
// slice, none from a sequence to itself, and none from what a page held before.
TEST(PerfettoTrace, ArrowsSayWhoServedWhom) {
  const TraceRows rows = {.count = 16, .reason = RowReason::kRank};
  const Checked drawn(
      Drawn({PagesAt(1, PageAct::kTaken, {7, 8}, 1), At(1, rows, 1),
             PagesAt(1.1, PageAct::kTaken, {9}, 1), At(1.25, rows, 1),
             PagesAt(1.5, PageAct::kShared, {7, 8, 9}, 2), PagesAt(1.5, PageAct::kTaken, {3}, 2),
             At(1.5, rows, 2), PagesAt(1.6, PageAct::kShared, {9}, 1), At(1.6, rows, 1),
             PagesAt(1.7, PageAct::kCopied, {7}, 3), At(1.75, rows, 3),
             PagesAt(2, PageAct::kShared, {7, 4}, 4), At(2, rows, 4)}));
  using Arrow = std::tuple<std::string, int64_t, double, int64_t>;
  EXPECT_EQ(drawn.arrows, (std::vector<Arrow>{{"s", 1, 1e6, 1},
                                              {"f", 2, 1.5e6, 1},
                                              {"s", 1, 1.25e6, 2},
                                              {"f", 2, 1.5e6, 2},
                                              {"s", 3, 1.75e6, 3},
                                              {"f", 4, 2e6, 3}}));
}

// Whatever stands in a file: the document is one all the same.
TEST(PerfettoTrace, OfEventsInAnyOrderIsADocument) {
  std::vector<TraceRecord> records = Story();
  std::reverse(records.begin(), records.end());
  Checked drawn(Drawn(records));
  EXPECT_EQ(drawn.counters, 4);
}

TEST(PerfettoTrace, KeepsNoMoreThanItSays) {
  PerfettoTrace drawing({});
  Status status;
  for (uint64_t i = 1; i <= uint64_t{kMostOpenInTrace} && status.ok(); ++i)
    status = drawing.Add(At(1, TraceQueued{}, i));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(drawing.Add(At(1, TraceQueued{}, ~uint64_t{0})).message(),
            "more than 65536 sequences are open");
}

RunSummary Summed(const std::vector<TraceRecord>& records) {
  TraceSummary summary;
  for (const TraceRecord& record : records) EXPECT_TRUE(summary.Add(record).ok());
  return summary.Summary();
}

TEST(TraceSummary, HasALineForEachRequest) {
  const RunSummary run = Summed(Story());
  ASSERT_EQ(run.requests.size(), 3u);
  const RequestSummary& first = run.requests[0];
  EXPECT_EQ(first.request, 1u);
  EXPECT_EQ(first.prompt_tokens, 40);
  EXPECT_EQ(first.cached_tokens, 10);
  EXPECT_EQ(first.computed_tokens, 30);
  EXPECT_EQ(first.output_tokens, 3);
  EXPECT_EQ(first.preemptions, 1);
  EXPECT_NEAR(first.queue_seconds, 0.11, 1e-9);
  EXPECT_NEAR(first.ttft_seconds, 0.3, 1e-9);
  EXPECT_NEAR(first.mean_tbt_seconds, 0.2, 1e-9);
  EXPECT_NEAR(first.max_tbt_seconds, 0.2, 1e-9);
  EXPECT_NEAR(first.seconds, 0.7, 1e-9);
  EXPECT_EQ(first.end, TraceEnd::kLength);
  EXPECT_EQ(run.requests[1].end, TraceEnd::kCancelled);
  EXPECT_TRUE(std::isnan(run.requests[1].ttft_seconds));
  EXPECT_FALSE(run.requests[2].end);
}

TEST(TraceSummary, SumsUpTheRun) {
  const RunSummary run = Summed(Story());
  EXPECT_EQ(run.request_count, 3);
  EXPECT_EQ(run.output_tokens, 3);
  EXPECT_EQ(run.steps, 1);
  EXPECT_EQ(run.rows, 30);
  EXPECT_EQ(run.preemptions, 1);
  EXPECT_EQ(run.guesses, 4);
  EXPECT_EQ(run.kept_guesses, 3);
  EXPECT_EQ(run.lost_events, 4);
  EXPECT_EQ(run.seconds, 2.6);
}

}  // namespace
}  // namespace skald
