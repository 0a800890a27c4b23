/// InterruptScope: Ctrl-C asks a running command to stop cleanly, a second one kills it.
#pragma once

namespace skald::cli {

/// While one exists, the first SIGINT only sets a flag; the signal's default action is restored by
/// the same stroke, so the second SIGINT ends the process at once, whatever it is doing. Outside a
/// scope SIGINT has its default action. At most one scope at a time, on the main thread.
class InterruptScope {
 public:
  InterruptScope();
  /// Restores the action found at construction.
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// Whether SIGINT came since the last scope began. Any thread, also after the scope.
  static bool Requested();

  /// A descriptor that poll finds readable once SIGINT has come in this scope, for a main thread
  /// that waits for something else, too. -1 if the system has none left.
  static int Descriptor();
};

}  // namespace skald::cli
