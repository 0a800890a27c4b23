#include "server/test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <utility>

namespace skald::server {

namespace {

constexpr timeval kPatience = {.tv_sec = 20, .tv_usec = 0};

}  // namespace

TestClient::TestClient(uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    socket_ = made;
  else
    close(made);
}

TestClient::~TestClient() { Close(); }

void TestClient::Close() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

void TestClient::EndSending() { shutdown(socket_, SHUT_WR); }

void TestClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool TestClient::ReadSome() {
  std::array<char, 4096> buffer;
  const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
  // Else a client that waits in vain for a connection to be closed would look like one that sees
  // it.
  if (count < 0 && errno == EAGAIN) unread_ += "(nothing more came)";
  if (count <= 0) return false;
  unread_.append(buffer.data(), static_cast<size_t>(count));
  return true;
}

std::string TestClient::ReadUntil(std::string_view text) {
  while (unread_.find(text) == std::string::npos) {
    if (!ReadSome()) return std::exchange(unread_, {});
  }
  const size_t end = unread_.find(text) + text.size();
  std::string read = unread_.substr(0, end);
  unread_.erase(0, end);
  return read;
}

std::string TestClient::ReadAll() {
  while (ReadSome()) {
  }
  return std::exchange(unread_, {});
}

std::string Post(std::string_view path, std::string_view json) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
         "Content-Length: " +
         std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
}

std::string Get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

std::string Ask(uint16_t port, std::string_view request) {
  TestClient client(port);
  client.Send(request);
  return client.ReadAll();
}

std::string BodyOf(std::string_view answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string_view::npos) return {};
  const std::string_view head = answer.substr(0, end);
  std::string_view rest = answer.substr(end + 4);
  if (head.find("transfer-encoding: chunked") == std::string_view::npos) return std::string(rest);
  std::string body;
  for (;;) {
    size_t size = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), size, 16);
    const size_t digits = static_cast<size_t>(parsed.ptr - rest.data());
    if (size == 0 || rest.size() < digits + 2 + size) return body;
    body += rest.substr(digits + 2, size);
    rest.remove_prefix(digits + 2 + size + 2);
  }
}

}  // namespace skald::server
