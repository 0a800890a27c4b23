/// Answer: the JSON of completions and chat completions, whole and in pieces.
///
/// Pure. The frame of a stream's chunk (id, object, created, model) is written once; a chunk is
/// that frame with its choice in it. Order and form as in docs/server.md: every chunk has
/// `choices`, a choice always has its `index`, the role comes with the first text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/generation_request.h"
#include "server/message_json.h"
#include "skald/request.h"

namespace skald::server {

/// A token by its bytes, with its log probability.
struct TokenText {
  std::string bytes;
  double logprob = 0;
};

/// A token that was generated, with the likeliest in its place.
struct ScoredToken {
  TokenText token;
  std::vector<TokenText> top = {};
};

/// What one choice has, or what has been added to it.
struct Choice {
  std::string text = {};
  /// Of a chat whose answers are taken apart, in the place of the text.
  std::vector<ChatPiece> pieces = {};
  int32_t call_count = 0;  ///< set when it has ended
  /// Stands before the text, as JSON (AppendJsonText): the prompt, of which all choices have the
  /// same one. nullptr: nothing does.
  std::shared_ptr<const std::string> prompt_json = {};
  std::vector<ScoredToken> scored = {};         ///< if log probabilities were asked for
  int64_t text_offset = 0;                      ///< characters before `scored`, for completions
  std::optional<FinishReason> reason = {};      ///< set when it has ended
  std::optional<std::string> stop_string = {};  ///< that ended it
};

/// Tokens counted.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;
};

/// What is the same in all chunks of an answer.
struct AnswerFrame {
  GenerationKind kind = GenerationKind::kCompletion;
  std::string id;
  int64_t created = 0;  ///< seconds since 1970
  std::string model;
  uint64_t seed = 0;               ///< asked for or drawn
  std::string system_fingerprint;  ///< of what the bits of an answer depend on beside the request
  bool with_logprobs = false;
  CallForm calls = CallForm::kTools;
};

/// What a client should know of how its request was understood.
struct AnswerNotes {
  std::span<const std::string> ignored = {};  ///< names of fields that nobody knows
  std::string_view warnings = {};             ///< names of warnings, with commas
};

/// The fields of every answer to a request that the engine computes: its id, and the notes.
std::vector<HttpField> AnswerFields(const std::string& id, const AnswerNotes& notes);

/// Characters of a text in UTF-8; of other bytes at most as many.
int64_t CharactersIn(std::string_view text);

/// "stop" or "length": the finish reasons of OpenAI's enum. Requires a reason that is an end, not a
/// failure. (A chat that ends by itself with a call says "tool_calls" or "function_call".)
std::string_view OpenAiFinishReason(FinishReason reason);

/// See above.
class Answer {
 public:
  explicit Answer(AnswerFrame frame);

  /// The complete answer: choices in order of their index.
  std::string Whole(const std::vector<Choice>& choices, const Usage& usage) const;
  /// The same in pieces of about kPieceBytes, none much longer than the longest choice.
  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const;
  static constexpr size_t kPieceBytes = size_t{256} << 10;

  /// Chunks of a stream, as SSE events "data: ...\n\n". A chunk with what `choice` has got: text or
  /// one piece, scored tokens. kFirst: the role comes with it.
  enum class Position : uint8_t { kFirst, kLater };
  std::string Chunk(int64_t index, const Choice& choice, Position position) const;
  /// The last chunk of a choice: its finish reason.
  std::string End(int64_t index, const Choice& choice) const;
  /// The chunk behind all choices that was asked for by stream_options.include_usage.
  std::string UsageChunk(const Usage& usage) const;

 private:
  std::string Event(const std::string& choices_and_more) const;

  AnswerFrame frame_;
  std::string chunk_head_;
};

/// An error in the middle of a stream.
std::string ErrorEvent(const ApiError& error);
/// The end of a stream: "data: [DONE]\n\n".
std::string_view DoneEvent();

}  // namespace skald::server
