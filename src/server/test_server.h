/// A server for tests: the bundled model, a thread of its own, and the parts of its answers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/thread.h"
#include "server/test_client.h"
#include "skald/server.h"
#include "support/soon.h"

namespace skald::server {

inline const Model& Tales() {
  static const Result<Model> model =
      LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf"});
  return *model;
}

inline Engine MakeEngine(EngineOptions options = {}) {
  if (options.kv_positions == 0) options.kv_positions = 8192;
  options.threads = 1;  /// tests run beside each other
  return *Engine::Create(Tales(), options);
}

/// A server that runs on a thread of its own until the end of the test.
class Running {
 public:
  explicit Running(EngineOptions engine = {}, ServerOptions options = {})
      : Running(MakeEngine(engine), std::move(options)) {}
  Running(Engine engine, ServerOptions options)
      : Running(Tales(), std::move(engine), std::move(options)) {}
  Running(const Model& model, Engine engine, ServerOptions options) {
    options.port = 0;
    options.model_name = "tales";
    options.version = "1";
    options.fingerprint_settings = "test";
    options.secret = "0123456789abcdef";
    options.unix_seconds = [] { return int64_t{1'700'000'000}; };
    server_.emplace(*Server::Create(model, std::move(engine), std::move(options)));
    thread_.emplace("connections", [this] { EXPECT_TRUE(server_->Run().ok()); });
  }
  ~Running() { Join(); }

  uint16_t port() const { return server_->port(); }
  uint16_t admin_port() const { return server_->admin_port(); }
  void Stop() { server_->Stop(); }
  void Join() {
    server_->Stop();
    thread_.reset();
  }

 private:
  std::optional<Server> server_;
  std::optional<Thread> thread_;
};

/// Holds the engine's thread in the middle of a step, from its first token until it is let go.
class Wedge : public EventSink {
 public:
  Listening Push(const Event& event) override {
    if (!event.Is<TokenEvent>()) return Listening::kGoOn;
    free_.wait(false);
    return Listening::kGone;
  }
  bool HasRoom(int64_t) const override { return true; }
  void LetGo() {
    free_ = true;
    free_.notify_all();
  }

 private:
  std::atomic<bool> free_{false};
};

inline std::string Complete(uint16_t port, std::string_view json) {
  return Ask(port, Post("/v1/completions", json));
}

/// What stands behind `name` in a JSON document of one answer, up to a comma or bracket.
inline std::string Member(std::string_view json, std::string_view name) {
  const size_t at = json.find("\"" + std::string(name) + "\":");
  if (at == std::string_view::npos) return {};
  const size_t begin = at + name.size() + 3;
  return std::string(json.substr(begin, json.find_first_of(",}]", begin) - begin));
}

/// The string behind every `name` of a document, escapes as they are.
inline std::string Texts(std::string_view json, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":\"";
  std::string all;
  for (size_t at = json.find(key); at != std::string_view::npos; at = json.find(key, at)) {
    at += key.size();
    while (json[at] != '"') {
      if (json[at] == '\\') all += json[at++];
      all += json[at++];
    }
  }
  return all;
}

/// The value of a metric without labels but the model's.
inline double Metric(uint16_t port, const std::string& name, const std::string& labels = {}) {
  const std::string text = BodyOf(Ask(port, Get("/metrics")));
  const std::string line = "\n" + name + "{model_name=\"tales\"" + labels + "} ";
  const size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size(), 30));
}

inline std::string HeaderOf(std::string_view answer, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const size_t at = answer.find(line);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + line.size();
  return std::string(answer.substr(begin, answer.find("\r\n", begin) - begin));
}

inline std::string WithKey(std::string_view method_and_path, std::string_view key,
                           std::string_view body = {}) {
  std::string request = std::string(method_and_path) + " HTTP/1.1\r\nHost: localhost\r\n" +
                        "Connection: close\r\nAuthorization: Bearer " + std::string(key) + "\r\n";
  if (!body.empty())
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return request + "\r\n" + std::string(body);
}

}  // namespace skald::server
