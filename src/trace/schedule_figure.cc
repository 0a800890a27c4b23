// A drawing by steps, not by time: what was computed with what is the schedule, and it is the same
// on a fast machine and on a slow one.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "figure/svg.h"
#include "skald/trace_view.h"
#include "trace/overload.h"

namespace skald {
namespace {

constexpr std::string_view kStyle = R"(.cells text { font: 10px ui-monospace, monospace; }
.p { fill: var(--amber-on); } .d { fill: var(--green-on); } .w { fill: var(--none); }
.x { fill: var(--none); stroke: var(--grey); stroke-dasharray: 2 2; }
rect { stroke: var(--paper); } .cached { fill: var(--blue); }
.solid .p { fill: var(--amber); } .solid .d { fill: var(--green); } .solid .w { fill: var(--rule); }
text.p { fill: var(--amber); font-weight: bold; } text.d { fill: var(--green); }
text.w, text.x { fill: var(--grey); }
)";

// Columns before the cells: where the text of each ends, and where the cells begin.
constexpr double kNameEnd = 64;
constexpr double kPromptEnd = 120;
constexpr double kCachedEnd = 176;
constexpr double kTokensEnd = 232;
constexpr double kCells = 240;
constexpr double kTop = 104;
constexpr std::string_view kAtEnd = "text-anchor=\"end\"";
constexpr std::string_view kCachedAtEnd = "class=\"cached\" text-anchor=\"end\"";
constexpr double kMostWidth = 24;   // of a cell
constexpr double kLeastWidth = 14;  // of a cell that a number has room in
constexpr double kTrack = 16;       // height of a track with a label
constexpr double kThinTrack = 4;    // of one among so many that labels find no room
constexpr int64_t kMostLabels = 48;
constexpr double kRows = 64;  // height of the rows of a step

// What a sequence did in a step.
enum class Doing : uint8_t { kPrefill, kDecode, kWaits, kPreempted };

struct Run {
  Doing doing = Doing::kWaits;
  int64_t first_step = 0;
  int64_t steps = 1;
  int64_t count = 0;  // rows of a prompt, or tokens, in each of the steps
};

struct Track {
  std::string name;
  int64_t prompt = 0;
  int64_t cached = 0;
  int64_t tokens = 0;
  std::vector<Run> runs = {};
  Doing between = Doing::kWaits;  // in steps without rows
  bool is_open = true;
  int64_t new_tokens = 0;  // of the step at hand
  int64_t new_rows = 0;    // of its prompt, in the step at hand
};

struct StepRows {
  int64_t rows = 0;
  int64_t prompt_rows = 0;
};

std::string_view WordOf(Doing doing) {
  constexpr std::array<std::string_view, 4> kWords = {"prefill", "decode", "waits", "preempted"};
  return kWords[static_cast<size_t>(doing)];
}

// Class of a cell.
char LetterOf(Doing doing) { return doing == Doing::kPreempted ? 'x' : WordOf(doing).front(); }

}  // namespace

struct ScheduleFigure::State {
  using Key = std::pair<uint64_t, int32_t>;  // request, sequence

  std::map<Key, Track> tracks = {};
  std::vector<StepRows> steps = {};
  int64_t hidden_sequences = 0;
  int64_t hidden_steps = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;

  Track* TrackOf(const TraceEvent& event) {
    const Key key = {event.request, event.sequence};
    if (const auto found = tracks.find(key); found != tracks.end()) return &found->second;
    if (std::ssize(tracks) >= kMostDrawnSequences) return nullptr;
    Track& track = tracks[key];
    track.name = event.sequence == 0 ? fmt::format("{}", event.request)
                                     : fmt::format("{}.{}", event.request, event.sequence);
    return &track;
  }

  void TakeOfSequence(const TraceEvent& event);
  void EndStep(const TraceStep& step);
  static std::string HeadOf(double y);
  static std::string LabelsOf(const Track& track, double y);
  static std::string CellsOf(const Track& track, double y, double height, double width);
  std::string RowsOfSteps(double bottom, double width) const;
  std::string Title() const;
  std::string Data() const;
};

ScheduleFigure::ScheduleFigure(std::string command) : state_(std::make_unique<State>()) {
  command_ = std::move(command);
}
ScheduleFigure::~ScheduleFigure() = default;

void ScheduleFigure::Add(const TraceRecord& record) {
  State& s = *state_;
  if (const auto* step = std::get_if<TraceStep>(&record.event.body)) {
    s.EndStep(*step);
  } else if (record.event.request != 0) {
    s.TakeOfSequence(record.event);
  }
}

void ScheduleFigure::State::TakeOfSequence(const TraceEvent& event) {
  Track* track = TrackOf(event);
  if (track == nullptr) {
    hidden_sequences += int64_t{std::holds_alternative<TraceQueued>(event.body)};
    return;
  }
  std::visit(
      trace::Overload{[&](const TraceQueued& body) {
                        track->prompt = body.prompt_tokens;
                        prompt_tokens += body.prompt_tokens;
                      },
                      [&](const TraceAdmitted& body) {
                        track->cached = body.cached;
                        cached_tokens += body.cached;
                      },
                      [&](const TraceRows& body) {
                        const bool is_prompt =
                            body.reason != RowReason::kDecode || body.first < track->prompt;
                        if (is_prompt) track->new_rows += body.count;
                      },
                      [&](const TraceToken&) {
                        ++track->tokens;
                        ++track->new_tokens;
                      },
                      [&](const TracePreempted&) { track->between = Doing::kPreempted; },
                      [&](const TraceResumed&) { track->between = Doing::kWaits; },
                      [&](const TraceEnded&) { track->is_open = false; },
                      [&](const TraceFinished&) { track->is_open = false; }, [](const auto&) {}},
      event.body);
}

// A step that computed nothing is none: the next has its number.
void ScheduleFigure::State::EndStep(const TraceStep& step) {
  if (step.rows == 0) return;
  const int64_t number = std::ssize(steps);
  const bool has_room = number < kMostDrawnSteps;
  hidden_steps += int64_t{!has_room};
  if (has_room) steps.push_back({.rows = step.rows, .prompt_rows = step.prompt_rows});
  for (auto& [key, track] : tracks) {
    const int64_t rows = std::exchange(track.new_rows, 0);
    const int64_t tokens = std::exchange(track.new_tokens, 0);
    const bool computes = rows > 0 || tokens > 0;
    if (!has_room || !(computes || track.is_open)) continue;
    Run run = {.doing = track.between, .first_step = number};
    if (computes) {
      run.doing = rows > 0 ? Doing::kPrefill : Doing::kDecode;
      run.count = rows > 0 ? rows : tokens;
    }
    Run* last = track.runs.empty() ? nullptr : &track.runs.back();
    if (last != nullptr && last->doing == run.doing && last->count == run.count &&
        last->first_step + last->steps == number) {
      ++last->steps;
    } else {
      track.runs.push_back(run);
    }
  }
}

// What a track is, in four columns before its cells.
std::string ScheduleFigure::State::LabelsOf(const Track& track, double y) {
  std::string svg = figure::Text(kNameEnd, y, kAtEnd, track.name);
  svg += figure::Text(kPromptEnd, y, kAtEnd, std::to_string(track.prompt));
  svg += figure::Text(kCachedEnd, y, kCachedAtEnd, std::to_string(track.cached));
  return svg + figure::Text(kTokensEnd, y, kAtEnd, std::to_string(track.tokens));
}

std::string ScheduleFigure::State::HeadOf(double y) {
  std::string svg = figure::Text(kNameEnd, y, kAtEnd, "request");
  svg += figure::Text(kPromptEnd, y, kAtEnd, "prompt");
  svg += figure::Text(kCachedEnd, y, kCachedAtEnd, "cached");
  return svg + figure::Text(kTokensEnd, y, kAtEnd, "answer");
}

// Runs as one rectangle each where there is no room for numbers, else a cell for each step.
std::string ScheduleFigure::State::CellsOf(const Track& track, double y, double height,
                                           double width) {
  std::string svg;
  for (const Run& run : track.runs) {
    const char letter = LetterOf(run.doing);
    const bool has_cells = width >= kLeastWidth && height >= kTrack;
    const int64_t cells = has_cells ? run.steps : 1;
    for (int64_t i = 0; i < cells; ++i) {
      const double x = kCells + width * static_cast<double>(run.first_step + i);
      const double wide = has_cells ? width : width * static_cast<double>(run.steps);
      svg += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"{:.1f}\"/>\n",
          letter, x, y, wide, height);
      if (!has_cells) continue;
      const std::string number = run.count > 0
                                     ? std::to_string(run.count)
                                     : std::string(run.doing == Doing::kWaits ? "." : "x");
      svg += figure::Text(x + width / 2, y + 12,
                          fmt::format("class=\"{}\" text-anchor=\"middle\"", letter), number);
    }
  }
  return svg;
}

// Rows of each step, those of prompts below.
std::string ScheduleFigure::State::RowsOfSteps(double bottom, double width) const {
  int64_t most = 1;
  for (const StepRows& step : steps) most = std::max(most, step.rows);
  const auto high = [&](int64_t rows) {
    return kRows * static_cast<double>(rows) / static_cast<double>(most);
  };
  const auto bar = [&](char letter, int64_t step, double end, int64_t rows) {
    return fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>\n",
        letter, kCells + width * static_cast<double>(step), end - high(rows), width, high(rows));
  };
  std::string svg;
  for (int64_t i = 0; i < std::ssize(steps); ++i) {
    const StepRows& step = steps[static_cast<size_t>(i)];
    svg += bar('p', i, bottom, step.prompt_rows);
    svg += bar('d', i, bottom - high(step.prompt_rows), step.rows - step.prompt_rows);
  }
  svg += figure::Text(kTokensEnd, bottom - kRows + 12, kAtEnd, fmt::format("{} rows", most));
  svg += figure::Text(kTokensEnd, bottom, kAtEnd, "0");
  const double right = kCells + width * static_cast<double>(std::ssize(steps));
  svg += figure::Text(kCells, bottom + 20, "", "step 0");
  return svg + figure::Text(right, bottom + 20, kAtEnd, std::to_string(std::ssize(steps) - 1));
}

std::string ScheduleFigure::State::Title() const {
  int64_t most = 0;
  for (const StepRows& step : steps) most = std::max(most, step.rows);
  return fmt::format("{} of {} prompt tokens came from the cache, and a step had up to {} rows",
                     cached_tokens, prompt_tokens, most);
}

std::string ScheduleFigure::State::Data() const {
  JsonWriter json;
  json.BeginObject().Key("steps").BeginArray();
  for (const StepRows& step : steps)
    json.BeginObject()
        .Key("rows")
        .Int(step.rows)
        .Key("prompt_rows")
        .Int(step.prompt_rows)
        .EndObject();
  json.EndArray().Key("sequences").BeginArray();
  for (const auto& [key, track] : tracks) {
    json.BeginObject().Key("request").Uint(key.first).Key("sequence").Int(key.second);
    json.Key("prompt").Int(track.prompt).Key("cached").Int(track.cached);
    json.Key("tokens").Int(track.tokens).Key("runs").BeginArray();
    for (const Run& run : track.runs) {
      json.BeginObject()
          .Key("doing")
          .String(WordOf(run.doing))
          .Key("first_step")
          .Int(run.first_step);
      json.Key("steps").Int(run.steps).Key("count").Int(run.count).EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().Take();
}

std::string ScheduleFigure::Finish() const {
  const State& s = *state_;
  const bool has_labels = std::ssize(s.tracks) <= kMostLabels;
  const double height = has_labels ? kTrack : kThinTrack;
  const double steps = std::max<double>(1, static_cast<double>(std::ssize(s.steps)));
  const double width = std::min(kMostWidth, (figure::kRight - kCells) / steps);
  double y = kTop;
  std::string cells;
  std::string labels = has_labels ? State::HeadOf(y - 8) : std::string();
  for (const auto& [key, track] : s.tracks) {
    cells += State::CellsOf(track, y, height, width);
    if (has_labels) labels += State::LabelsOf(track, y + 12);
    y += height;
  }
  const double bottom = y + 24 + kRows;
  const std::string title = s.Title();
  std::string svg =
      figure::BeginSvg({.height = bottom + 88, .title = title, .data = s.Data(), .more = kStyle});
  svg += figure::Text(figure::kMargin, 40, "class=\"title\"", title);
  svg += figure::Text(figure::kMargin, 64, "",
                      "In a step: amber and bold, rows of a prompt; green, tokens of the answer; "
                      "grey, it waits; dashed, it has lost its pages");
  const bool has_numbers = has_labels && width >= kLeastWidth;
  svg += labels + (has_numbers ? "<g class=\"cells\">\n" : "<g class=\"solid\">\n") + cells;
  svg += "</g>\n<g class=\"solid\">\n" + s.RowsOfSteps(bottom, width) + "</g>\n";
  if (s.hidden_sequences > 0 || s.hidden_steps > 0) {
    svg += figure::Text(figure::kMargin, bottom + 44, "",
                        fmt::format("{} further sequences and {} further steps are not drawn",
                                    s.hidden_sequences, s.hidden_steps));
  }
  return svg + figure::Text(figure::kMargin, bottom + 68, "", command_) + "</svg>\n";
}

}  // namespace skald
