/// Socket: a descriptor that closes with its owner, and TCP as ranks use it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "skald/status.h"

namespace skald::ranks {

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.Release()) {}
  Socket& operator=(Socket&& other) noexcept;

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// The descriptor, which the caller owns from now on.
  int Release() { return std::exchange(descriptor_, -1); }
  /// Ends what is waited for, here and on the other side. Any thread.
  void Shut() const;

 private:
  int descriptor_;
};

/// Where a process can be reached: "10.0.0.1:7000", "[::1]:7000", "node-3:7000".
struct Address {
  std::string host;
  uint16_t port = 0;

  std::string Text() const;
};

/// Errors: kInvalidArgument.
Result<Address> ParseAddress(const std::string& text);

/// Waits for others at `address`; port 0: at one that is free. Errors: kIo, with the system's
/// reason; kNotFound, there is no such host.
Result<Socket> ListenAt(const Address& address);

/// Tries until somebody takes the call: a process of another machine may start later. Errors:
/// kUnavailable, with the last reason.
Result<Socket> ConnectTo(const Address& address, const Deadline& deadline);

/// Here and there, in figures.
Address OwnAddress(int descriptor);
Address OtherAddress(int descriptor);

/// What is sent goes at once, for a step waits for it, and a machine that does not answer any more
/// is gone after half a minute, also where nothing is sent. Sends and receives end with an error
/// after so many seconds; 0: never.
void PrepareTcp(int descriptor, double patience_seconds);

}  // namespace skald::ranks
