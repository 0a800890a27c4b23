/// A server whose model writes what the last message of the conversation asks it to write.
///
/// What stands between "@@" and "@@" in a prompt is the answer to it, token by token, "<tool_call>"
/// and "<think>" as control tokens. So each test says what the model writes, and no model is
/// needed: Engine and Model are defined in scripted_engine.cc, in the place of the real ones. What
/// a request's constraint does not allow it to write ends that request with an error.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "server/test_client.h"
#include "skald/server.h"

namespace skald {

namespace json = boost::json;

Model ScriptedModel();
/// Any port of this machine, without keys.
ServerOptions ScriptedOptions();

/// See above.
class ScriptedServer : public testing::Test {
 protected:
  ScriptedServer() : model_(ScriptedModel()) {
    server_.emplace(*Server::Create(model_, *Engine::Create(model_, {}), ScriptedOptions()));
    thread_.emplace("connections", [this] { CHECK(server_->Run().ok()); });
  }
  ~ScriptedServer() override {
    server_->Stop();
    thread_.reset();
  }

  // The answer to a chat whose model writes `script`, with `more` members.
  json::value Ask(std::string_view script, std::string_view more = kTools) {
    return json::parse(server::BodyOf(Post(script, more)));
  }
  std::string Post(std::string_view script, std::string_view more) {
    const json::array messages{
        json::object{{"role", "user"}, {"content", "@@" + std::string(script) + "@@"}}};
    return PostMessages(json::serialize(messages), more);
  }
  std::string PostMessages(std::string_view messages, std::string_view more) {
    return PostTo("/v1/chat/completions",
                  "{\"messages\":" + std::string(messages) + std::string(more) + "}");
  }
  // The whole answer of a route, head and all.
  std::string PostTo(std::string_view path, std::string_view body) {
    return server::Ask(server_->port(), server::Post(path, body));
  }
  json::value Message(std::string_view script, std::string_view more = kTools) {
    return Ask(script, more).at("choices").at(0).at("message");
  }

  static constexpr std::string_view kTools =
      R"(,"seed":7,"tools":[{"type":"function","function":{"name":"add","parameters":)"
      R"({"type":"object","properties":{"a":{"type":"integer"}}}}}])";

  Model model_;
  std::optional<Server> server_;
  std::optional<Thread> thread_;
};

}  // namespace skald
