/// Input items: what the input of OpenAI's Responses API is made of.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "server/api_error.h"
#include "server/conversation.h"

namespace skald::server {

/// Adds the items of an input one by one. What the model said in one turn comes as several: the
/// reasoning, a message, calls. They become one message as templates know it.
class InputItems {
 public:
  explicit InputItems(Conversation& conversation) : conversation_(conversation) {}

  /// `where`: its name in a message of error. 400 for what is no item, and for items and parts that
  /// no model of text can read.
  std::optional<ApiError> Add(const std::string& where, const boost::json::value& value);
  /// To be called behind the last.
  void Finish();

 private:
  std::optional<ApiError> AddMessage(const std::string& where, const boost::json::object& item);
  std::optional<ApiError> AddCall(const std::string& where, const boost::json::object& item);
  std::optional<ApiError> AddOutput(const std::string& where, const boost::json::object& item);
  std::optional<ApiError> AddReasoning(const std::string& where, const boost::json::object& item);

  Conversation& conversation_;
  AssistantTurn turn_;  // not added yet
  ArgumentReader arguments_;
};

}  // namespace skald::server
