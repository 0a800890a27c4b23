/// ReadTurns: whose bytes the I/O thread reads next, so that nobody's wait for all of somebody
/// else's.
///
/// A look at which sockets have something to read gives all of them at once. Served in that order,
/// a reader of a short request waits for a piece of each of a hundred bodies, and a body whose
/// memory grows costs milliseconds in that very turn. So payers (who also share the ByteBudget)
/// take turns, a piece each (round robin, Nagle 1987): whoever comes waits for one piece of each
/// other payer and for the pieces of its own that came before.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace skald::server {

/// See above. I/O thread only.
class ReadTurns {
 public:
  using Work = std::function<void()>;

  /// `post` calls its argument later, on this thread, and looks at sockets and timers in between.
  explicit ReadTurns(std::function<void(Work)> post) : post_(std::move(post)) {}

  /// Calls `work`, which is of a bounded size, when it is this payer's turn; never from in here.
  /// What a payer brings is served in its order.
  void Add(const std::string& payer, Work work);

 private:
  void PostNext();
  void ServeNext();

  std::function<void(Work)> post_;
  std::map<std::string, std::deque<Work>> waiting_;  // of payers that have something
  std::deque<std::string> turns_;                    // the same payers, the next one first
  bool posted_ = false;
};

}  // namespace skald::server
