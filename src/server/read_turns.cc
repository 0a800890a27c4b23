#include "server/read_turns.h"

#include <utility>

namespace skald::server {

void ReadTurns::Add(const std::string& payer, Work work) {
  std::deque<Work>& own = waiting_[payer];
  own.push_back(std::move(work));
  if (own.size() == 1) turns_.push_back(payer);
  PostNext();
}

// One piece a call: between two pieces sockets are looked at, and a payer that is new gets its
// turn.
void ReadTurns::PostNext() {
  if (turns_.empty() || std::exchange(posted_, true)) return;
  post_([this] {
    posted_ = false;
    ServeNext();
  });
}

void ReadTurns::ServeNext() {
  const std::string payer = std::move(turns_.front());
  turns_.pop_front();
  const auto found = waiting_.find(payer);
  const Work work = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty())
    waiting_.erase(found);
  else
    turns_.push_back(payer);
  PostNext();
  // Last: it may add more, and may be the last to hold what it is about.
  work();
}

}  // namespace skald::server
