/// Answer: the JSON of OpenAI's completions and chat completions, whole and in pieces.
///
/// Pure. The frame of a stream's chunk (id, object, created, model) is written once; a chunk is
/// that frame with its choice in it. Order and form as in docs/server.md: every chunk has
/// `choices`, a choice always has its `index`, the role comes with the first text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_writer.h"

namespace skald::server {

/// What a client should know of how its request was understood.
struct AnswerNotes {
  std::span<const std::string> ignored = {};  ///< names of fields that nobody knows
  std::string_view warnings = {};             ///< names of warnings, with commas
  /// What of a relaxed schema is not kept: JSON pointers from its root.
  std::span<const std::string> relaxed = {};
};

/// The fields of every answer to a request that the engine computes: its id, and the notes.
std::vector<HttpField> AnswerFields(const std::string& id, const AnswerNotes& notes);

/// Characters of a text in UTF-8; of other bytes at most as many.
int64_t CharactersIn(std::string_view text);
/// That a token adds to the text of an answer: none if it is hidden.
int64_t CharactersOf(const ScoredToken& scored);

/// "stop" or "length": the finish reasons of OpenAI's enum. Requires a reason that is an end, not a
/// failure. (A chat that ends by itself with a call says "tool_calls" or "function_call".)
std::string_view OpenAiFinishReason(FinishReason reason);

/// See above.
class Answer final : public AnswerWriter {
 public:
  explicit Answer(AnswerFrame frame);

  /// The complete answer: choices in order of their index.
  std::string Whole(const std::vector<Choice>& choices, const Usage& usage) const;
  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const override;

  /// Chunks are SSE events "data: ...\n\n". The role comes with the first of a choice.
  StreamForm stream_form() const override { return {}; }
  std::string Begin(const Usage&) override { return {}; }
  std::string Chunk(int64_t index, const Choice& choice, Position position) override;
  std::string End(int64_t index, const Choice& choice) override;
  /// The chunk behind all choices that was asked for by stream_options.include_usage, and
  /// "data: [DONE]\n\n".
  std::string Finish(const Usage& usage) override;
  std::string Error(const ApiError& error) override;

 private:
  std::string Event(const std::string& choices_and_more) const;
  std::string UsageChunk(const Usage& usage) const;

  AnswerFrame frame_;
  std::string chunk_head_;
};

}  // namespace skald::server
