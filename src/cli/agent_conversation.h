/// The load of an agent: one long conversation that grows by turns, each of which brings everything
/// before it again.
///
/// The prompt of a turn is a system prompt with tools, the messages and answers so far, and a new
/// message (the result of a tool). As real clients do it:
///   - the first half of each answer is thinking, which later turns leave out;
///   - in every fifth turn the last message is edited: its second half is another one, and what was
///     answered to it is gone;
///   - in every fourth turn two side questions about the conversation so far are asked beside.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cli/traffic_workload.h"

namespace skald::cli {

/// Why a request of an agent was made.
enum class AgentStep : uint8_t { kMessage, kEdit, kSideQuestion, kRecorded };
std::string_view AgentStepName(AgentStep step);

struct AgentRequest {
  AgentStep step = AgentStep::kMessage;
  TrafficRequest request;
};

/// See above. Always the same for the same shape and answers. Pure.
class AgentConversation {
 public:
  /// Of `shape`: num_prompts turns, prefix_len, input_len tokens of a message, output_len of an
  /// answer.
  AgentConversation(const TrafficShape& shape, int64_t vocab_size);

  /// The requests of the next turn, to be made at the same time, side questions last; none after
  /// the last turn.
  std::vector<AgentRequest> NextTurn();
  /// What was answered to the first of them.
  void TakeAnswer(std::span<const TokenId> answer);

  /// Tokens of the longest request and its answer, at most.
  int64_t longest() const;

 private:
  std::vector<TokenId> Text(int64_t count);
  AgentRequest Ask(AgentStep step, const std::vector<TokenId>& message, int64_t answer) const;

  TrafficShape shape_;
  int64_t vocab_size_;
  int64_t turn_ = 0;
  uint64_t texts_ = 0;            // made so far
  std::vector<TokenId> history_;  // all but the last message and its answer
  std::vector<TokenId> last_message_;
  std::vector<TokenId> last_answer_;  // without its thinking
};

/// How many tokens of the prompts nobody has sent or got before: the least that must be computed.
class NewTokens {
 public:
  /// Of `prompt`, behind what it has in common with anything that was added.
  int64_t Count(std::span<const TokenId> prompt) const;
  void Add(std::vector<TokenId> text) { texts_.push_back(std::move(text)); }

 private:
  std::vector<std::vector<TokenId>> texts_;
};

}  // namespace skald::cli
