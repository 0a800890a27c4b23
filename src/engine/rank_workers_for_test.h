/// RankWorkers: the other ranks of a model as threads of a test, which know each other only by the
/// sockets and the memory that processes of a machine would have, or by TCP.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skald/model.h"
#include "skald/ranks.h"

namespace skald::engine {

class RankWorkers {
 public:
  enum class Over : uint8_t { kMemory, kTcp };
  struct Options {
    int count = 2;          ///< with the first
    std::string path = {};  ///< of the model of the others; empty: the same
    int64_t verify_steps = 0;
    Over over = Over::kMemory;
  };
  explicit RankWorkers(const Options& options) {
    options.over == Over::kTcp ? MeetOverTcp(options) : ShareMemory(options);
  }
  /// After whatever has the group: the others end when the first does.
  ~RankWorkers() {
    group_.reset();
    for (std::thread& thread : threads_) thread.join();
    for (const int cut : cuts_) close(cut);
  }
  RankWorkers(const RankWorkers&) = delete;
  RankWorkers& operator=(const RankWorkers&) = delete;

  const RankGroup& group() const { return group_; }
  /// As if the process of a rank were gone. Not over TCP.
  void Cut(int rank) { shutdown(cuts_[static_cast<size_t>(rank) - 1], SHUT_RDWR); }

 private:
  void MeetOverTcp(const Options& options) {
    const std::string key = "of a test";
    Result<RankGroup> group = HostRanks(
        {.address = "127.0.0.1:0",
         .key = key,
         .count = options.count,
         .verify_steps = options.verify_steps},
        [&](const RankArrival& arrival) {
          if (arrival.here > 1) return;
          for (int rank = 1; rank < options.count; ++rank) {
            threads_.emplace_back([path = options.path, key, address = arrival.address] {
              Result<RankWorker> worker =
                  RankWorker::JoinAt({.address = address, .key = key, .path = path, .threads = 1});
              if (worker.ok()) (void)worker->Run();
            });
          }
        });
    EXPECT_TRUE(group.ok()) << group.status().message();
    group_ = *std::move(group);
  }

  void ShareMemory(const Options& options) {
    RankSockets links = {.memory = *ShareRankMemory(options.count),
                         .sockets = {},
                         .verify_steps = options.verify_steps};
    for (int rank = 1; rank < options.count; ++rank) {
      std::array<int, 2> ends = {-1, -1};
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
      links.sockets.push_back(ends[0]);
      cuts_.push_back(dup(ends[1]));
      threads_.emplace_back([path = options.path, memory = dup(links.memory), end = ends[1]] {
        Result<RankWorker> worker =
            RankWorker::Join({.memory = memory, .socket = end, .path = path});
        if (worker.ok()) (void)worker->Run();
      });
    }
    Result<RankGroup> group = LeadRanks(links);
    EXPECT_TRUE(group.ok()) << group.status().message();
    group_ = *std::move(group);
  }

  RankGroup group_;
  std::vector<int> cuts_;
  std::vector<std::thread> threads_;
};

}  // namespace skald::engine
