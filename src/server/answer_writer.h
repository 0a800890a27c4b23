/// AnswerWriter: how an API says what a generation gives, whole or as a stream.
///
/// A generation knows choices, pieces and tokens counted; a writer knows the names and the order of
/// one API. So every API has the same requests, limits and texts behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api_error.h"
#include "server/exchange.h"
#include "server/generation_request.h"
#include "server/message_json.h"
#include "skald/request.h"
#include "skald/tokenizer.h"

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
  bool is_hidden = false;  ///< a control token: its name is not in the text
};

/// A prompt with its log probabilities. There may be many: tokens become bytes when they are told.
struct ScoredPrompt {
  const Tokenizer& tokenizer;  ///< outlives it
  std::vector<TokenId> tokens;
  int64_t characters = 0;  ///< of its text, if the answer repeats it
  std::shared_ptr<const PromptLogprobs> logprobs = {};

  /// The token at `index` >= 1, with the `top` likeliest in its place.
  ScoredToken At(size_t index, size_t top) const;
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
  /// If those of the prompt were asked for; shared by all choices.
  std::shared_ptr<const ScoredPrompt> scored_prompt = {};
  std::vector<ScoredToken> scored = {};         ///< if log probabilities were asked for
  int64_t text_offset = 0;                      ///< characters before `scored`, for completions
  std::optional<FinishReason> reason = {};      ///< set when it has ended
  std::optional<std::string> stop_string = {};  ///< that ended it
  /// ReceiptJson; set when it has ended, if one was asked for. nullptr: none was.
  std::shared_ptr<const std::string> receipt_json = {};
};

/// True if the model ended it, not a stop string or a bound. Requires that it has ended.
bool EndedByItself(const Choice& choice);

/// What the pieces of a choice are, also if its text was not taken apart.
std::vector<ChatPiece> PiecesOf(const Choice& choice);

/// Tokens counted, and times: of all of it, from the first look at the prompt to the first token,
/// and from there to the last.
struct Usage {
  int64_t prompt_tokens = 0;
  CachedTokens cached = {};  ///< of these
  int64_t completion_tokens = 0;
  int64_t reasoning_tokens = 0;  ///< of these: those after which reasoning was told last
  double total_seconds = 0;
  double prompt_seconds = 0;
  double output_seconds = 0;
};

/// What is the same in all parts of an answer.
struct AnswerFrame {
  GenerationKind kind = GenerationKind::kCompletion;
  std::string id;
  int64_t created = 0;  ///< seconds since 1970
  std::string model;
  uint64_t seed = 0;               ///< asked for or drawn
  std::string system_fingerprint;  ///< of what the bits of an answer depend on beside the request
  bool with_logprobs = false;
  int32_t top_logprobs = 0;                     ///< with them: likeliest tokens of each
  std::optional<int32_t> prompt_logprobs = {};  ///< the same, if those of the prompt are told apart
  bool include_usage = false;                   ///< of a stream of OpenAI's
  CallForm calls = CallForm::kTools;
  /// The members that llama.cpp's answer is to have; none: all.
  std::vector<std::string> only_members = {};
  /// Members that repeat the request: name, and value as JSON.
  std::vector<std::pair<std::string, std::string>> repeated = {};
};

/// See above. For one answer; not thread-safe.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  /// The complete answer in pieces of about kPieceBytes, none much longer than the longest choice;
  /// choices in order of their index.
  virtual std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                                 const Usage& usage) const = 0;
  static constexpr size_t kPieceBytes = size_t{256} << 10;

  /// A stream is Begin, chunks and an End of each choice, Finish; or an Error instead of what is
  /// left. Each returns bytes to send, perhaps none.
  virtual StreamForm stream_form() const = 0;
  /// True if the end of a stream repeats all of it: what has come is held until then.
  virtual bool KeepsText() const { return false; }
  /// What stands before all choices. `usage` has the prompt.
  virtual std::string Begin(const Usage& usage) = 0;
  /// What `choice` has got: text or one piece, scored tokens. kFirst: nothing of it was sent.
  enum class Position : uint8_t { kFirst, kLater };
  virtual std::string Chunk(int64_t index, const Choice& choice, Position position) = 0;
  /// The choice has ended: its finish reason.
  virtual std::string End(int64_t index, const Choice& choice) = 0;
  virtual std::string Finish(const Usage& usage) = 0;
  virtual std::string Error(const ApiError& error) = 0;
};

/// The writer for what was asked.
std::unique_ptr<AnswerWriter> MakeAnswerWriter(AnswerStyle style, AnswerFrame frame);

}  // namespace skald::server
