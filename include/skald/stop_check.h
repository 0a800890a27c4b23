/// StopCheck: how long work asks now and then whether to stop.
///
/// A call that may take long takes one and asks it about every millisecond of its work, on its own
/// thread. It returns kCancelled, and no result, soon after the answer was yes. So rooms that know
/// no clock and no client keep the deadlines of who calls them.
#pragma once

namespace skald {

/// A reference to what is asked, as cheap as two pointers.
class StopCheck {
 public:
  /// Never stops.
  StopCheck() = default;
  /// Asks `should_stop()`, a bool, which outlives the call that this is passed to.
  template <typename Function>
  explicit StopCheck(const Function& should_stop)
      : context_(&should_stop),
        ask_([](const void* context) { return (*static_cast<const Function*>(context))(); }) {}

  bool operator()() const { return ask_ != nullptr && ask_(context_); }

 private:
  const void* context_ = nullptr;
  bool (*ask_)(const void*) = nullptr;
};

}  // namespace skald
