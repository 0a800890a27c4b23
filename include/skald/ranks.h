/// Ranks: one model computed by several processes together.
///
/// Each process is a rank: it reads, packs and keeps some rows of every matrix, with the K and V of
/// its heads, and all compute each step together (docs/decisions/0029, 0054). No bit of an answer
/// depends on how many there are. The first rank has the engine, and whoever asks it; the others do
/// what it says.
///
/// The first rank makes the memory that they share and a pair of connected sockets for each other
/// one, and starts these, each with one end and the memory:
///
///     Result<RankGroup> group = LeadRanks({.memory = memory, .sockets = sockets});
///     Result<Model> model = LoadModel({.path = path, .group = *group});
///     Result<Engine> engine = Engine::Create(*model, options);    and all else as ever
///
/// and each of the others:
///
///     Result<RankWorker> worker = RankWorker::Join({.memory = 4, .socket = 3});
///     const Status end = worker->Run();
///
/// Ranks of several machines meet at an address instead (HostRanks, RankWorker::JoinAt).
///
/// One rank gone, all gone: where a process ends, or stands still for some seconds, every request
/// ends with kUnavailable, and nothing can be computed with this model any more. Start anew.
///
/// Sockets and memory are of processes of one user on one machine, who trust each other: whoever
/// has them reads prompts and can change answers. Over TCP only who knows the key gets in, but what
/// is sent is not encrypted: the network between ranks is one of their own (SECURITY.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skald/model.h"
#include "skald/status.h"

namespace skald {

namespace ranks {
class Group;
}

/// The processes of one model, as one of them sees them. Goes into LoadOptions.
using RankGroup = std::shared_ptr<ranks::Group>;

/// Memory for `count` ranks, under a descriptor that closes on exec, which the caller owns. It has
/// no name. Errors: kResourceExhausted.
Result<int> ShareRankMemory(int count);

/// What the first rank has.
struct RankSockets {
  int memory = -1;           ///< of ShareRankMemory
  std::vector<int> sockets;  ///< one to each other rank, in their order
  /// After so many steps each all ranks compare what all of them have computed: the residual
  /// stream. One that differs (another program, memory that fails) ends the group. 0: never.
  int64_t verify_steps = 0;
};

/// Takes the descriptors and closes them in the end, waits for the others to say who they are.
/// Errors: kUnavailable, one is gone; kUnsupported, one is another version of skald.
Result<RankGroup> LeadRanks(const RankSockets& links);

/// What the first rank has where the others are on other machines. All of them know an address and
/// a key, and nothing else.
struct RankHost {
  std::string address;           ///< where they come to: "10.0.0.1:7000"; port 0: one that is free
  std::string key;               ///< some bytes that nobody can guess
  int count = 2;                 ///< of ranks, with the first
  double patience_seconds = 60;  ///< until all are there
  int64_t verify_steps = 0;      ///< RankSockets
};

/// Who is there already.
struct RankArrival {
  std::string address;  ///< where the first rank listens, in figures
  int here = 1;         ///< ranks, with the first
};

/// Waits for the others to come (RankWorker::JoinAt); calls `told` once it listens and whenever one
/// has come. Threads of LoadOptions and EngineOptions are then those of the first rank alone.
/// Errors: as LeadRanks; kInvalidArgument, no address, no key, fewer than two ranks; kIo, it cannot
/// be listened at; kUnavailable, not all came in time.
Result<RankGroup> HostRanks(const RankHost& host,
                            const std::function<void(const RankArrival&)>& told = nullptr);

/// Calls `told` with the reason, on any thread, when the group cannot compute any more; at once, if
/// it cannot. It must not ask the group anything. Null takes it back: behind that it is not called.
void WhenRankLost(const RankGroup& group, std::function<void(const Status&)> told);

/// Every other rank.
class RankWorker {
 public:
  struct Options {
    int memory = -1;
    int socket = -1;        ///< to the first rank
    std::string path = {};  ///< of the model, where it is another one here; empty: the first rank's
  };
  /// Takes the descriptors, waits for the first rank to say which model, and loads its part of it.
  /// Errors: as LeadRanks and LoadModel; the first rank has been told.
  static Result<RankWorker> Join(const Options& options);
  struct RemoteOptions {
    std::string address;           ///< of the first rank: "node-1:7000"
    std::string key;               ///< RankHost::key
    uint16_t port = 0;             ///< where other ranks come to; 0: one that is free
    double patience_seconds = 60;  ///< until the first rank and all others are there
    std::string path = {};         ///< of the model; empty: the first rank's
    int threads = 0;               ///< of this machine; 0: all cores
  };
  /// The same from another machine, over TCP. Errors: as Join; kInvalidArgument, no address, or
  /// another key; kUnavailable, nobody is there in time.
  static Result<RankWorker> JoinAt(const RemoteOptions& options);
  ~RankWorker();
  RankWorker(RankWorker&&) noexcept;
  RankWorker& operator=(RankWorker&&) = delete;

  /// Computes with the others until the first rank ends. Errors: kUnavailable, the group was lost
  /// in the middle of a step, or the first rank stands still.
  Status Run();
  /// The second of these: it will not end by itself.
  bool first_stands_still() const;

  /// What stands behind a RankWorker. Defined by the engine room.
  struct State;

 private:
  explicit RankWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
