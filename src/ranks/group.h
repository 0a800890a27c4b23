/// Group: the processes that compute one model together, as one of them sees it.
///
/// The first rank leads: it orders, all others follow, each order in its turn. What an order means
/// those know who give and take it. Floats go another way (exchange.h).
///
///     first rank:  Lead   Tell, Tell, Ask, ...                  destroyed: the others end
///     all others:  Join   Next, Next, Next and Answer, ...      Next fails: the end
///
/// One rank gone, all gone: a thread of each process looks whether the others are there and not
/// stopped. Where one is not, the group is lost, for good: sends and waits end at once, exchanges
/// bring nothing, and who computes asks lost() before it uses a number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/thread.h"
#include "ranks/channel.h"
#include "ranks/link.h"
#include "skald/status.h"

namespace skald::ranks {

class Group {
 public:
  /// Kinds of orders begin here; those below are the group's own.
  static constexpr uint32_t kFirstOrder = 16;

  struct Options {
    /// What all ranks must have in common to give the same bits: "skald 0.1.0, numerics 3".
    std::string build;
    /// After which a rank that does not beat is taken for stopped. Time in which this process was
    /// stopped itself does not count.
    double patience_seconds = 5;
    /// After so many steps each the ranks compare what all of them have computed; 0: never.
    int64_t verify_steps = 0;
  };

  /// The first rank's, with one channel to each other rank, in their order. Waits for them to say
  /// who they are. Errors: kUnavailable, one is gone; kUnsupported, one is another build.
  static Result<std::shared_ptr<Group>> Lead(std::unique_ptr<Link> link,
                                             std::vector<Channel> others, const Options& options);
  /// Makes the link of a rank that has just been told which it is.
  using MakeLink = FunctionRef<std::unique_ptr<Link>(int rank)>;
  /// That of each other rank. Errors: as Lead; kInvalidArgument, the link is that of another rank.
  static Result<std::shared_ptr<Group>> Join(MakeLink make_link, Channel first,
                                             const Options& options);
  ~Group();

  int rank() const { return link_->rank(); }
  int count() const { return link_->count(); }
  bool leads() const { return rank() == 0; }
  int ranks_here() const { return link_->ranks_here(); }
  int64_t verify_steps() const { return verify_steps_; }
  /// For the thread that computes.
  Exchange& exchange() { return link_->exchange(); }

  /// Begins to look after the others, and to beat. Once, by whoever is ready to follow orders.
  void Watch();

  // --- of the first rank

  /// Who gives orders holds it from the first to the last of those that belong together.
  std::unique_lock<std::mutex> TakeTurn() { return std::unique_lock(turn_); }
  /// An order to all other ranks, or to one. Returns at once, also where the group is lost.
  void Tell(uint32_t kind, std::span<const std::byte> bytes);
  void TellOne(int rank, uint32_t kind, std::span<const std::byte> bytes);
  /// Takes what a rank has answered to an order.
  using Take = FunctionRef<Status(int rank, std::span<const std::byte> bytes)>;
  /// Waits for the answers of all to an order that each answers. Errors: kUnavailable, the group is
  /// lost; else the first of what `take` or a rank says, with the rank's name.
  Status Await(Take take);
  /// Tell and Await.
  Status Ask(uint32_t kind, std::span<const std::byte> bytes, Take take);
  /// The same of one rank.
  Status AskOne(int rank, uint32_t kind, std::span<const std::byte> bytes, Take take);
  /// A number that it has not given before: who orders calls things by it.
  uint64_t NewNumber() { return next_number_++; }

  // --- of the others

  /// The next order. Errors: kUnavailable, the first rank has ended or the group is lost.
  Status Next(Message* order);
  void Answer(const Status& status, std::span<const std::byte> bytes = {});

  // --- of all

  /// Gives the group up. Any thread.
  void Break(const std::string& why);
  bool lost() const { return link_->lost(); }
  /// Ok, or kUnavailable and why the group is lost. Any thread.
  Status status() const;
  /// Calls `told` when the group is lost, on any thread; at once, if it is. It must not ask the
  /// group anything. Null takes it back: behind that it is not called any more.
  void WhenLost(std::function<void(const Status&)> told);
  /// Whether the rank that is why the group is lost is the first, stopped.
  bool first_stands_still() const { return first_stands_still_; }

 private:
  // What is known of another rank.
  struct Peer {
    int rank = 0;
    Channel channel;
    int64_t process = 0;
    std::string host = {};
    uint32_t beats = 0;
    double still_seconds = 0;
  };

  Group(std::unique_ptr<Link> link, const Options& options);
  Status Greet(Peer* peer, const Options& options);
  std::string NameOf(const Peer& peer) const;
  Status GoneStatus(const Peer& peer) const;
  void Send(Peer* peer, uint32_t kind, std::span<const std::byte> bytes);
  Status AwaitFrom(Peer* peer, Take take);
  void WatchMain();
  const Peer* FindGone() const;
  void LookForStopped(double seconds);

  const std::unique_ptr<Link> link_;
  const double patience_seconds_;
  const int64_t verify_steps_;
  std::vector<Peer> peers_;  // of the first rank all others; of those the first
  std::mutex turn_;
  Message answer_;  // with turn_
  std::atomic<uint64_t> next_number_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> first_stands_still_ = false;

  mutable std::mutex mutex_;  // for these two
  std::string why_lost_;      // empty: it is not, as far as this process knows
  std::function<void(const Status&)> told_;

  std::optional<Thread> watch_;  // last: it looks at all else
};

}  // namespace skald::ranks
