/// ConsoleFeed: what the console's pages are told while they are open, as server-sent events.
///
/// Ten times a second, while anybody watches, it looks at the engine (Engine::Look, for which the
/// engine does not wait) and tells each watcher the parts that have changed. A watcher that reads
/// slowly gets no more until it has caught up, and then the newest: what waits for it is bounded.
/// I/O thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/clock.h"
#include "server/console/console_json.h"
#include "server/exchange.h"
#include "server/served_model.h"

namespace skald::server {

/// Calls a function on the I/O thread after so many seconds, unless the server ends before.
using Later = std::function<void(double seconds, std::function<void()> work)>;

/// What a feed works with. The references outlive it.
struct ConsoleSetup {
  Engine& engine;
  const ServedModel& served;
  const Clock& clock;
  Later later;
  std::string version;
  std::optional<Ceilings> ceilings = {};
};

/// See above.
class ConsoleFeed {
 public:
  static constexpr double kBeatSeconds = 0.1;
  /// Watchers at a time; a watcher costs the I/O thread some tenths of a millisecond a beat. No
  /// tenant has more than its part, so that it takes several to keep others from watching.
  static constexpr size_t kMostWatchers = 16;
  static constexpr size_t kMostOfOne = 4;
  /// Unread bytes beyond which a watcher gets no more. What a view gives is some hundred KiB.
  static constexpr size_t kMostBacklog = size_t{64} << 10;
  /// The tree changes with every token, and its texts are most of what is told.
  static constexpr double kTreeSeconds = 0.5;
  /// Where nothing changes: a sign of life.
  static constexpr double kTickSeconds = 1;

  ConsoleFeed(ConsoleSetup setup, std::shared_ptr<const ApiKeys> keys);
  ~ConsoleFeed();

  /// Tells `tenant` what it may see, until its client goes. Error: 429 with the numbers.
  OrError<std::shared_ptr<Exchange>> Watch(std::shared_ptr<const Tenant> tenant,
                                           AnswerChannel& channel);
  /// Other keys: all watchers end, and come back if they still may.
  void SetKeys(std::shared_ptr<const ApiKeys> keys);
  /// Ends all watchers.
  void EndAll();

 private:
  // Each is an event of its own.
  enum Part : uint8_t { kStep, kStats, kPages, kRequests, kTree, kPartCount };
  using Text = std::shared_ptr<const std::string>;
  using Parts = std::array<Text, kPartCount>;
  class Watcher;

  void ScheduleBeat();
  void Beat();
  std::string Hello(const Tenant& tenant) const;
  /// All but the tree.
  static void MakeParts(const ConsoleInput& input, const Tenant& tenant, Parts* parts);
  static void Renew(std::string made, Text* part);

  ConsoleSetup setup_;
  std::shared_ptr<const ApiKeys> keys_;
  NamespaceOwners owners_;
  std::vector<std::weak_ptr<Watcher>> watchers_;
  std::map<TenantId, Parts> parts_;  // of the tenants that watch, as last told
  std::shared_ptr<const EngineView> told_;
  size_t told_arrived_ = 0;
  std::shared_ptr<const EngineView> told_tree_;
  double told_tree_seconds_ = 0;
  bool beating_ = false;
};

}  // namespace skald::server
