/// A client for tests: one TCP connection to this machine, every byte of it in the test's hands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skald::server {

/// Not thread-safe. Calls wait at most 20 seconds, and say in what they return that they waited in
/// vain.
class TestClient {
 public:
  explicit TestClient(uint16_t port);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return socket_ >= 0; }
  void Send(std::string_view bytes);
  /// No more comes from this side (FIN); answers can still be read.
  void EndSending();
  /// Closes: FIN, or a reset if bytes are unread.
  void Close();

  /// Bytes until the answer holds `text`, or the server closes.
  std::string ReadUntil(std::string_view text);
  /// Bytes until the server closes.
  std::string ReadAll();

 private:
  bool ReadSome();

  int socket_ = -1;
  std::string unread_;
};

/// "POST path" with this JSON; the connection closes after the answer.
std::string Post(std::string_view path, std::string_view json);
std::string Get(std::string_view path);

/// One request on a connection of its own: the whole answer.
std::string Ask(uint16_t port, std::string_view request);

/// The body of an answer, chunks put together.
std::string BodyOf(std::string_view answer);

}  // namespace skald::server
