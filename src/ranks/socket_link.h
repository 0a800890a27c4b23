/// SocketLink: the link of ranks that have nothing in common but sockets, so of several machines.
///
/// Each two ranks have a socket for floats. What a rank gives goes to every other one as a head and
/// the floats of its columns one behind the other; a socket keeps the order of the exchanges. All
/// sockets are served at the same time, or two ranks that send more than a socket holds would wait
/// for each other. Signs of life have sockets of their own: the thread that computes must not stand
/// between them.
///
/// What comes is from a process that knew the key of the group (door.h); it is checked all the
/// same, for a mistake must not write where it does not belong. A head that does not fit ends the
/// group.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ranks/link.h"
#include "ranks/socket.h"

namespace skald::ranks {

class SocketLink final : public Link {
 public:
  /// Connected stream sockets, by rank; none for the own one.
  struct Sockets {
    /// Of so many ranks, none yet.
    explicit Sockets(int count)
        : floats(static_cast<size_t>(count)), pulses(static_cast<size_t>(count)) {}

    std::vector<Socket> floats;
    std::vector<Socket> pulses;  ///< of the first rank to all others; of these to the first
  };
  SocketLink(Sockets sockets, int rank);

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(sockets_.floats.size()); }
  int ranks_here() const override { return 1; }
  Exchange& exchange() override { return end_; }
  void Break() override;
  bool lost() const override { return lost_.load(std::memory_order_acquire); }
  void Beat() override;
  uint32_t beats(int rank) override;

 private:
  // What stands in front of the floats of a rank.
  struct Head {
    uint32_t magic = 0;
    uint32_t round = 0;
    int64_t row_count = 0;
    int64_t first = 0;
    int64_t count = 0;
    int64_t runs = 0;
    int64_t run_stride = 0;
  };
  // Of one exchange with another rank: what has gone, what has come.
  struct Peer {
    int rank = 0;
    int descriptor = -1;
    size_t sent = 0;      // bytes of the outgoing piece
    size_t received = 0;  // bytes of the head, then of the floats
    bool takes = false;
    bool gives = false;
    Head head;
    std::vector<float> floats;  // as outgoing_: the first of them
    size_t float_count = 0;
  };

  class End final : public Exchange {
   public:
    explicit End(SocketLink* link) : link_(*link) {}
    void Gather(const Columns& own) override { link_.Pass(own, Takers::kAll); }
    void GatherToFirst(const Columns& own) override { link_.Pass(own, Takers::kFirst); }

   private:
    SocketLink& link_;
  };

  void Pass(const Columns& own, Takers takers);
  void Begin(const Columns& own, Takers takers);
  // Whether anything moved; nothing where the group is lost.
  bool Move(const Columns& own, Peer* peer);
  bool Send(Peer* peer);
  bool Receive(const Columns& own, Peer* peer);
  bool Done() const;
  void Wait();  // until something can move

  Sockets sockets_;
  const int rank_;
  End end_;
  std::atomic<bool> lost_ = false;
  std::vector<uint32_t> beats_;  // by rank

  uint32_t round_ = 0;
  // The first bytes are those of this exchange. Never cut: to grow again would fill it with zeros,
  // some megabytes in each layer of a prompt.
  std::vector<std::byte> outgoing_;
  size_t outgoing_bytes_ = 0;
  std::vector<Peer> peers_;
};

}  // namespace skald::ranks
