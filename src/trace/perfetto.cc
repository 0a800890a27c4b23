// The format: "Trace Event Format", the document that Chrome's tracing and Perfetto refer to. An
// object of JSON with a list of events. Of these: M names a process or a track, B and E are the
// begin and the end of a slice and nest on their track, i is an instant, C a counter, s and f the
// ends of an arrow between slices. Times are microseconds. An end says again what its begin said:
// Perfetto needs no word of it, but speedscope looks for the slice of that name and of these
// arguments, and leaves it open where there is none.

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "skald/trace_view.h"
#include "trace/overload.h"
#include "trace/shapes.h"

namespace skald {
namespace {

constexpr int64_t kEngine = 1;  // processes: groups of tracks
constexpr int64_t kSequences = 2;

// Pages of which is known who computed them: a pool has fewer. Beyond that there are no arrows.
constexpr size_t kMostPages = size_t{1} << 20;

template <typename Enum>
std::string Word(Enum value) {
  return std::string(trace::Words<Enum>::kWords[static_cast<size_t>(value)]);
}

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (const std::string_view part : parts) joined += part;
  return joined;
}

std::string CaseName(const TraceRepetition& test) {
  return Join({"p", std::to_string(test.prompt_tokens), " n", std::to_string(test.decode_tokens),
               " b", std::to_string(test.batch), " d", std::to_string(test.depth)});
}

using Args = std::vector<std::pair<const char*, double>>;

struct Slice {
  std::string name;
  Args args;
};

// Where a page was computed: in the slice of a track that began at a time, in microseconds.
struct Origin {
  int64_t track = 0;
  double began = 0;

  auto operator<=>(const Origin&) const = default;
};

struct Track {
  int64_t process = 0;
  int64_t number = 0;
  std::vector<Slice> open = {};  // the innermost last
  // Of a sequence, until its next slice with rows:
  std::vector<int32_t> taken = {};  // pages that it will compute
  std::set<Origin> sources = {};    // of pages that it shares
};

}  // namespace

struct PerfettoTrace::State {
  using Key = std::pair<uint64_t, int32_t>;  // request, sequence

  JsonWriter json;
  double now = 0;  // microseconds; never goes back
  Track steps = {.process = kEngine, .number = 1};
  Track bench = {.process = kEngine, .number = 2};
  std::map<Key, Track> sequences;
  std::vector<Key> computing;       // those with rows in the step
  std::map<int32_t, Origin> pages;  // who computed them
  int64_t last_track = 0;
  int64_t last_arrow = 0;

  JsonWriter& Event(const char* phase, const Track& track) {
    return json.BeginObject()
        .Key("ph")
        .String(phase)
        .Key("ts")
        .Double(now)
        .Key("pid")
        .Int(track.process)
        .Key("tid")
        .Int(track.number);
  }

  void Name(const char* what, const Track& track, const std::string& name) {
    json.BeginObject().Key("ph").String("M").Key("ts").Double(now).Key("pid").Int(track.process);
    json.Key("tid").Int(track.number).Key("name").String(what);
    json.Key("args").BeginObject().Key("name").String(name).EndObject().EndObject();
  }

  void PutArgs(const Args& args) {
    json.Key("args").BeginObject();
    for (const auto& [name, value] : args) json.Key(name).Double(value);
    json.EndObject();
  }

  void Put(const char* phase, const Track& track, const Slice& slice) {
    Event(phase, track).Key("name").String(slice.name);
    PutArgs(slice.args);
    json.EndObject();
  }

  void Begin(Track& track, std::string name, Args args = {}) {
    track.open.push_back({.name = std::move(name), .args = std::move(args)});
    Put("B", track, track.open.back());
  }

  // Slices of the track, until `open` are left.
  void EndTo(Track& track, size_t open) {
    for (; track.open.size() > open; track.open.pop_back()) Put("E", track, track.open.back());
  }

  void Instant(const Track& track, const std::string& name, const Args& args = {}) {
    Event("i", track).Key("s").String("t").Key("name").String(name);
    PutArgs(args);
    json.EndObject();
  }

  void Counter(const char* name, const Args& args) {
    Put("C", {.process = kEngine}, {.name = name, .args = args});
  }

  void ArrowEnd(const char* phase, const Origin& place) {
    json.BeginObject().Key("ph").String(phase).Key("ts").Double(place.began);
    json.Key("pid").Int(kSequences).Key("tid").Int(place.track).Key("id").Int(last_arrow);
    json.Key("name").String("prefix").Key("cat").String("prefix");
    json.Key("bp").String("e").EndObject();  // to the slice around it, not to the next one
  }

  // Of the slice that has just begun: what it shares was computed there, and what it has taken, it
  // computes. An arrow is put where it ends, because before that nobody knows of it; its begin has
  // an earlier time then than what stands before it in the document.
  void TakePages(Track& track) {
    const Origin here = {.track = track.number, .began = now};
    for (const Origin& source : std::exchange(track.sources, {})) {
      ++last_arrow;
      ArrowEnd("s", source);
      ArrowEnd("f", here);
    }
    for (const int32_t page : std::exchange(track.taken, {})) {
      if (pages.size() < kMostPages || pages.contains(page)) pages[page] = here;
    }
  }

  void NotePages(const TracePages& body, Track& track) {
    for (size_t i = 0; i < body.ids.count; ++i) {
      const int32_t page = body.ids.ids[i];
      if (body.act != PageAct::kShared) {
        if (track.taken.size() < kMostPages) track.taken.push_back(page);
      } else if (const auto known = pages.find(page); known != pages.end()) {
        if (known->second.track != track.number) track.sources.insert(known->second);
      }
    }
  }

  // Only one slice is open on the track of a sequence.
  void Replace(Track& track, std::string name, Args args = {}) {
    EndTo(track, 0);
    Begin(track, std::move(name), std::move(args));
  }

  Track& SequenceOf(const TraceEvent& event) {
    const auto [found, is_new] = sequences.try_emplace({event.request, event.sequence});
    Track& track = found->second;
    if (!is_new) return track;
    track = {.process = kSequences, .number = ++last_track};
    const std::string request = Join({"request ", std::to_string(event.request)});
    const std::string sequence = std::to_string(event.sequence);
    Name("thread_name", track, event.sequence == 0 ? request : Join({request, ".", sequence}));
    return track;
  }

  void Take(const TraceRecord& record);
  void TakeOfSequence(const TraceRecord& record);
  void TakeEnd(const TraceStep& step);
};

PerfettoTrace::PerfettoTrace(const TraceHeader& header) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.json.BeginObject().Key("displayTimeUnit").String("ms").Key("otherData").BeginObject();
  s.json.Key("program").String(header.program).Key("command").String(header.command);
  s.json.Key("model").String(header.model).Key("cpu").String(header.cpu).EndObject();
  s.json.Key("traceEvents").BeginArray();
  s.Name("process_name", s.steps, "engine: " + header.model);
  s.Name("thread_name", s.steps, "steps");
  s.Name("process_name", {.process = kSequences}, "sequences");
  s.Name("thread_name", s.bench, "tests");
}

PerfettoTrace::~PerfettoTrace() = default;

Status PerfettoTrace::Add(const TraceRecord& record) {
  State& s = *state_;
  s.Take(record);
  if (std::ssize(s.sequences) <= kMostOpenInTrace) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                "more than " + std::to_string(kMostOpenInTrace) + " sequences are open");
}

void PerfettoTrace::State::Take(const TraceRecord& record) {
  const TraceEvent& event = record.event;
  // What began before its event was told.
  const auto from = [&](double seconds) { now = std::max(now, 1e6 * (event.seconds - seconds)); };
  std::visit(
      trace::Overload{
          [&](const TracePlan& plan) {
            from(plan.seconds);
            EndTo(steps, 0);
            Begin(steps, Join({"step ", std::to_string(plan.step)}),
                  {{"decode rows", plan.decode_rows},
                   {"prompt rows", plan.prompt_rows},
                   {"prompt budget", plan.prompt_budget},
                   {"admitted", plan.admitted},
                   {"displaced", plan.displaced}});
            Begin(steps, "plan");
          },
          [&](const TraceForward& forward) {
            from(0);
            EndTo(steps, 1);
            Begin(steps, "forward", {{"rows", forward.rows}, {"logit rows", forward.logit_rows}});
          },
          [&](const TraceComputed&) {
            from(0);
            EndTo(steps, 1);
            Begin(steps, "sample");
          },
          [&](const TraceStep& step) {
            from(0);
            TakeEnd(step);
          },
          [&](const TraceLost& lost) {
            from(0);
            Instant(steps, "lost", {{"events", lost.count}});
          },
          [&](const TraceRepetition& body) {
            from(body.seconds);
            Begin(bench, CaseName(body));
            from(0);
            EndTo(bench, 0);
          },
          [&](const TraceOperation& body) {
            from(body.seconds);
            Begin(bench, std::string(body.operation.view()),
                  {{"macs", body.macs}, {"bytes", body.bytes}});
            from(0);
            EndTo(bench, 0);
          },
          [&](const auto&) {
            from(0);
            TakeOfSequence(record);
          }},
      event.body);
}

void PerfettoTrace::State::TakeEnd(const TraceStep& step) {
  for (const Key& key : std::exchange(computing, {})) {
    if (const auto found = sequences.find(key); found != sequences.end()) EndTo(found->second, 0);
  }
  EndTo(steps, 0);
  Counter("pages",
          {{"held", step.pages_held}, {"cached", step.pages_cached}, {"free", step.pages_free}});
  Counter("sequences", {{"running", step.running}, {"waiting", step.waiting}});
}

void PerfettoTrace::State::TakeOfSequence(const TraceRecord& record) {
  const TraceEvent& event = record.event;
  if (std::holds_alternative<TraceFinished>(event.body)) {
    const auto first = sequences.lower_bound({event.request, 0});
    auto end = first;
    for (; end != sequences.end() && end->first.first == event.request; ++end)
      EndTo(end->second, 0);
    sequences.erase(first, end);
    return;
  }
  Track& track = SequenceOf(event);
  const auto begin = [&](const char* name, const auto& body) {
    EndTo(track, 0);
    Instant(track, name, {{"cached", body.cached}, {"disk", body.disk}, {"length", body.length}});
  };
  std::visit(
      trace::Overload{
          [&](const TraceQueued& body) {
            Replace(track, "waiting",
                    {{"prompt tokens", body.prompt_tokens}, {"priority", body.priority}});
          },
          [&](const TraceWaits& body) {
            Instant(track, Join({"waits: ", Word(body.reason)}));
          },
          [&](const TraceAdmitted& body) { begin("admitted", body); },
          [&](const TraceResumed& body) { begin("resumed", body); },
          [&](const TracePages& body) {
            Instant(track, Join({"pages ", Word(body.act)}), {{"count", body.count}});
            NotePages(body, track);
          },
          [&](const TraceSnapshot& body) {
            Instant(track, "snapshot", {{"position", body.position}});
          },
          [&](const TraceBrought& body) {
            Instant(track, "brought",
                    {{"from", body.from},
                     {"to", body.to},
                     {"bytes", body.bytes},
                     {"seconds", body.seconds}});
          },
          [&](const TraceRows& body) {
            computing.emplace_back(event.request, event.sequence);
            const bool decodes = body.reason == RowReason::kDecode;
            Replace(track, decodes ? "decode" : Join({"prefill: ", Word(body.reason)}),
                    {{"first", body.first}, {"rows", body.count}, {"guesses", body.guesses}});
            TakePages(track);
          },
          [&](const TraceGuess& body) {
            Instant(track, "guess", {{"tokens", body.tokens}, {"kept", body.kept}});
          },
          [&](const TraceToken& body) {
            const bool has_text = !record.texts.empty() && !record.texts.front().empty();
            Instant(track,
                    has_text ? record.texts.front() : Join({"token ", std::to_string(body.token)}),
                    {{"token", body.token},
                     {"index", body.index},
                     {"p_model", body.p_model},
                     {"p_drawn", body.p_drawn}});
          },
          [&](const TracePreempted& body) {
            Replace(track, Join({"preempted: ", Word(body.reason)}), {{"length", body.length}});
          },
          [&](const TraceEnded& body) {
            EndTo(track, 0);
            Instant(track, Join({"ended: ", Word(body.reason)}));
          },
          [](const auto&) {}},
      event.body);
}

std::string PerfettoTrace::TakePart() { return state_->json.TakePart(); }

std::string PerfettoTrace::Finish() {
  State& s = *state_;
  for (auto& [key, track] : s.sequences) s.EndTo(track, 0);
  s.EndTo(s.steps, 0);
  s.json.EndArray().EndObject();
  return s.json.Take() + '\n';
}

}  // namespace skald
