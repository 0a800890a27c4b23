#include "cli/event_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "cli/environment.h"
#include "cli/interrupt.h"
#include "cli/loading.h"

namespace skald::cli {

namespace {

// A line that flashes up for less than this is noise.
constexpr double kPatienceSeconds = 0.4;

}  // namespace

// What the engine's thread rings when there is something to read.
class EventReader::Bell {
 public:
  Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Bell() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void Ring() const {
    constexpr uint64_t kOne = 1;
    [[maybe_unused]] const ssize_t written = write(descriptor_, &kOne, sizeof(kOne));
  }
  void Silence() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(descriptor_, &count, sizeof(count));
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

EventReader::EventReader(Engine& engine, Console& console)
    : engine_(engine), console_(console), bell_(std::make_shared<Bell>()) {}

EventReader::~EventReader() { Erase(); }

std::function<void()> EventReader::on_ready() const {
  return [bell = bell_] { bell->Ring(); };
}

bool EventReader::ShowsProgress(const Console& console) {
  return console.terminals().error && console.verbosity() != Verbosity::kQuiet;
}

Status EventReader::Submit(const Request& request, std::shared_ptr<TextSink> sink) {
  sink_ = std::move(sink);
  ASSIGN_OR_RETURN(id_, engine_.Submit(request, sink_));
  return Ok();
}

void EventReader::Cancel() {
  if (cancelled_) return;
  cancelled_ = true;
  engine_.Cancel(*id_);
  if (drawn_) Draw();
}

TextEvent EventReader::Next() {
  // Without a descriptor of its own nobody rings: then Ctrl-C comes with the next event.
  if (bell_->descriptor() < 0) {
    TextEvent next = sink_->Next();
    if (InterruptScope::Requested()) Cancel();
    Notice(next.event);
    return next;
  }
  while (true) {
    if (InterruptScope::Requested()) Cancel();
    bell_->Silence();  // before looking, so that what comes after the look rings
    if (std::optional<TextEvent> next = sink_->TryNext()) {
      Notice(next->event);
      return *std::move(next);
    }
    Wait();
  }
}

// Until an event, Ctrl-C, or the time to draw.
void EventReader::Wait() {
  std::array<pollfd, 2> wait = {{{bell_->descriptor(), POLLIN, 0},
                                 // Once heard it would be readable for ever.
                                 {cancelled_ ? -1 : InterruptScope::Descriptor(), POLLIN, 0}}};
  const bool will_draw = reading_ && !drawn_ && total_ > 0 && ShowsProgress(console_);
  const double patience = std::max(0.0, kPatienceSeconds - watch_.Seconds());
  const int milliseconds = will_draw ? static_cast<int>(patience * 1000) + 1 : -1;
  if (poll(wait.data(), wait.size(), milliseconds) == 0) Draw();
}

void EventReader::Notice(const Event& event) {
  if (const auto* admitted = event.As<AdmittedEvent>()) return Advance(*admitted);
  if (const auto* chunk = event.As<ChunkEvent>()) return Advance(*chunk);
  if (const auto* resumed = event.As<ResumedEvent>()) return Advance(*resumed);
  if (event.Is<QueuedEvent>() || event.Is<PreemptedEvent>()) return;
  reading_ = false;
  Erase();
}

template <typename Part>
void EventReader::Advance(const Part& part) {
  done_ = part.done;
  total_ = part.total;
  if (drawn_) Draw();
}

void EventReader::Draw() {
  if (!reading_ || !ShowsProgress(console_)) return;
  drawn_ = true;
  const Progress progress{cancelled_ ? "stopping" : "reading", done_, total_,
                          fmt::format("{} of {} tokens", done_, total_)};
  console_.Decorate(fmt::format("{}{}", kEraseLine, ProgressLine(progress, TerminalColumns())));
}

void EventReader::Erase() {
  if (std::exchange(drawn_, false)) console_.Decorate(kEraseLine);
}

}  // namespace skald::cli
