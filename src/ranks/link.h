/// Link: what carries floats and signs of life among the ranks of a group (ranks/group.h): memory
/// of one machine (shared_link.h), or sockets (socket_link.h).
#pragma once

#include <cstdint>

#include "ranks/exchange.h"

namespace skald::ranks {

/// The end of one rank. Once the ranks are lost they stay so: every exchange returns at once and
/// brings nothing, and who has called it asks lost() before it uses a number.
class Link {
 public:
  virtual ~Link() = default;

  virtual int rank() const = 0;
  /// Of ranks, with this one.
  virtual int count() const = 0;
  /// How many of them share the processors of this machine: all, or this one alone.
  virtual int ranks_here() const = 0;
  /// For the one thread of this process that computes.
  virtual Exchange& exchange() = 0;

  /// Gives all ranks up, in every process, and ends what they wait for. Any thread.
  virtual void Break() = 0;
  /// Any thread.
  virtual bool lost() const = 0;

  /// Says that this process is not stopped. One thread.
  virtual void Beat() = 0;
  /// Changes with what another rank has said so; 0 before the first time. The first rank hears all
  /// others, these hear the first. The thread of Beat.
  virtual uint32_t beats(int rank) = 0;
};

}  // namespace skald::ranks
