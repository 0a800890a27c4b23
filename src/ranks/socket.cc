#include "ranks/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/host_port.h"
#include "base/status_macros.h"

namespace skald::ranks {
namespace {

// Between two tries to reach somebody who is not there yet.
constexpr useconds_t kPauseMicroseconds = 50'000;

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status SystemError(const std::string& what, int error) {
  return Status(ErrorCode::kIo, what + ": " + std::strerror(error));
}

Result<Found> Find(const Address& address) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error == 0) return Found(found, &freeaddrinfo);
  return Status(ErrorCode::kNotFound, "host '" + address.host + "': " + gai_strerror(error));
}

Socket MakeSocket(const addrinfo& at) {
  return Socket(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC, at.ai_protocol));
}

// In figures, of what getsockname and getpeername give.
template <typename Ask>
Address AddressBy(const Ask& ask) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  auto* name = reinterpret_cast<sockaddr*>(&storage);
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  if (ask(name, &length) == 0) {
    getnameinfo(name, length, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
  }
  Address address = {.host = host};
  std::from_chars(port, port + std::strlen(port), address.port);
  return address;
}

// One try.
Result<Socket> Call(const Address& address) {
  ASSIGN_OR_RETURN(const Found found, Find(address));
  int error = ECONNREFUSED;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    Socket made = MakeSocket(*at);
    if (made.open() && connect(made.descriptor(), at->ai_addr, at->ai_addrlen) == 0) {
      // Where nobody listens on this machine, a socket may be given that very port and call itself.
      const int own = made.descriptor();
      if (OwnAddress(own).Text() != OtherAddress(own).Text()) return made;
      error = ECONNREFUSED;
      continue;
    }
    error = errno;
  }
  return SystemError(address.Text(), error);
}

}  // namespace

Socket::~Socket() {
  if (open()) close(descriptor_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void Socket::Shut() const { shutdown(descriptor_, SHUT_RDWR); }

std::string Address::Text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> ParseAddress(const std::string& text) {
  if (const auto place = ParseHostPort(text)) {
    return Address{.host = place->host, .port = place->port};
  }
  return Status(ErrorCode::kInvalidArgument,
                "'" + text + "' is no HOST:PORT; examples: node-1:7000, 10.0.0.1:7000, [::1]:7000");
}

Result<Socket> ListenAt(const Address& address) {
  ASSIGN_OR_RETURN(const Found found, Find(address));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    Socket made = MakeSocket(*at);
    const int on = 1;
    // A job that is started anew finds connections of the old one that are still ending.
    setsockopt(made.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(made.descriptor(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(made.descriptor(), SOMAXCONN) == 0) {
      return made;
    }
    error = errno;
  }
  return SystemError("cannot listen at " + address.Text(), error);
}

Result<Socket> ConnectTo(const Address& address, const Deadline& deadline) {
  while (true) {
    Result<Socket> made = Call(address);
    if (made.ok()) {
      PrepareTcp(made->descriptor(), 0);
      return made;
    }
    if (deadline.HasPassed()) {
      return Status(ErrorCode::kUnavailable, made.status().message());
    }
    usleep(kPauseMicroseconds);
  }
}

Address OwnAddress(int descriptor) {
  return AddressBy(
      [&](sockaddr* name, socklen_t* length) { return getsockname(descriptor, name, length); });
}

Address OtherAddress(int descriptor) {
  return AddressBy(
      [&](sockaddr* name, socklen_t* length) { return getpeername(descriptor, name, length); });
}

void PrepareTcp(int descriptor, double patience_seconds) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // While a model is loaded nobody beats yet.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  timeval bound = {};
  bound.tv_sec = static_cast<time_t>(patience_seconds);
  bound.tv_usec = static_cast<suseconds_t>(std::fmod(patience_seconds, 1) * 1e6);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(descriptor, SOL_SOCKET, option, &bound, sizeof(bound));
  }
}

}  // namespace skald::ranks
