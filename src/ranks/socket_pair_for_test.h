/// Two ends of a connection within a process, for tests and fuzzers.
#pragma once

#include <sys/socket.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "ranks/socket.h"

namespace skald::ranks {

inline std::pair<Socket, Socket> SocketPair() {
  std::array<int, 2> ends = {-1, -1};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

}  // namespace skald::ranks
