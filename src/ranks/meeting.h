/// How the ranks of several machines find each other.
///
/// The first one listens at an address that all know. Each other one listens at a port of its own,
/// comes to the first, is told its number and where those before it listen, and connects to each of
/// them; so each two have met. Ranks are numbered as they come: no bit depends on who is which.
///
///     first:   Host                 others:  Attend
///
/// Behind it the door is shut, and nobody comes later: a rank that is gone ends the group.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "ranks/channel.h"
#include "ranks/socket.h"
#include "ranks/socket_link.h"
#include "skald/status.h"

namespace skald::ranks {

/// What a rank has when all have met: Group::Lead and Group::Join take it.
struct Met {
  std::unique_ptr<SocketLink> link;
  std::vector<Channel> channels;  ///< of the first to all others, in their order; of these to it
};

/// What all must know beforehand.
struct Invitation {
  std::string key;
  double patience_seconds = 60;  ///< until all are there
};

/// The first rank's, of `count`. `came` is called with how many are there, each time somebody has
/// come. Errors: kUnavailable, not all came.
Result<Met> Host(Socket listener, int count, const Invitation& invitation,
                 FunctionRef<void(int here)> came);

/// Every other one's. `port`: where those behind it are to connect; 0: the system takes one.
/// Errors: as Enter and ListenAt; kUnavailable, the group is not complete in time, or complete
/// without this one.
Result<Met> Attend(const Address& first, uint16_t port, const Invitation& invitation);

}  // namespace skald::ranks
