// Fuzz target: what another rank gives in two exchanges (socket_link.h), as a stranger would give
// it, and then goes.
//
// Holds for all bytes: nothing is written beyond the rows, no memory but for floats that the rows
// have room for, and a group whose other rank has not given both is lost.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ranks/socket_link.h"
#include "ranks/socket_pair_for_test.h"

namespace skald::ranks {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kStride = 12;
constexpr size_t kAround = 64;  // floats before and behind the rows
constexpr float kKept = 7;
// Less than a socket holds, more than two exchanges of these rows.
constexpr size_t kMostBytes = 1024;

SocketLink LinkTo(Socket socket) {
  SocketLink::Sockets sockets(2);
  sockets.floats[1] = std::move(socket);
  return SocketLink(std::move(sockets), 0);
}

void GatherOnce(SocketLink* link) {
  std::vector<float> floats(2 * kAround + kRows * kStride, kKept);
  link->exchange().Gather({.rows = floats.data() + kAround,
                           .stride = kStride,
                           .row_count = kRows,
                           .first = 0,
                           .count = 6});
  const auto kept = [](float each) { return each == kKept; };
  CHECK(std::all_of(floats.begin(), floats.begin() + kAround, kept));
  CHECK(std::all_of(floats.end() - kAround, floats.end(), kept));
}

}  // namespace
}  // namespace skald::ranks

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald::ranks;
  auto [here, there] = SocketPair();
  SocketLink link = LinkTo(std::move(here));
  const size_t said = std::min(size, kMostBytes);
  CHECK(write(there.descriptor(), data, said) == static_cast<ssize_t>(said));
  CHECK(shutdown(there.descriptor(), SHUT_WR) == 0);
  GatherOnce(&link);
  GatherOnce(&link);
  // Two heads of 48 bytes are the least that two exchanges are.
  CHECK(said >= 2 * 48 || link.lost());
  return 0;
}
