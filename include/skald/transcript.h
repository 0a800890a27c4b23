/// Transcript: what the events of a request amount to, as far as they have come: texts, tokens,
/// probabilities, ends, counts and times.
///
///     Transcript answer(request);
///     Result<RequestId> id = engine.Submit(std::move(request), *sink);
///     while (!answer.end) answer.Add((*sink)->Next());
///     std::cout << answer.best().text << '\n';
///
/// It can be read between two events. Everything in it is of the events: what was not asked for in
/// the request, or not kept, is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/ids.h"
#include "skald/request.h"
#include "skald/sampling_params.h"
#include "skald/text_sink.h"
#include "skald/version.h"

namespace skald {

/// What is kept of each token. The rest takes the same memory however long the answer is.
struct TranscriptKeeps {
  bool text = true;
  bool tokens = true;
  bool logprobs = true;  ///< and the likeliest other tokens
  bool seconds = false;
  bool draws = false;  ///< for a receipt (skald/receipt.h)
};

/// One sequence of the answer.
struct TranscriptSequence {
  std::string text = {};                            ///< of TextEvents
  std::vector<TokenId> tokens = {};                 ///< generated; a final end token included
  std::vector<double> logprobs = {};                ///< TokenEvent::logprob of each
  std::vector<std::vector<TokenLogprob>> top = {};  ///< TokenEvent::top of each
  std::vector<double> seconds = {};                 ///< Event::seconds of each
  std::vector<TokenDraw> draws = {};                ///< TokenEvent::draw of each
  std::optional<FinishReason> reason = {};          ///< once it has ended
  int32_t stop_index = -1;                          ///< TextEvent::stop_index
  double score = 0;                                 ///< SequenceFinishedEvent::score
};

/// Of one request. Times are those of the engine's clock.
struct Transcript {
  /// For the events of `request`, of which the number of sequences and of prompt tokens count.
  explicit Transcript(const Request& request, TranscriptKeeps what = {});

  /// Takes the next event; of a request whose text is read, with its text.
  void Add(const Event& event);
  void Add(const TextEvent& event);

  /// The answer, or the best one; before the end the first.
  const TranscriptSequence& best() const;
  /// From submission to the first token, or to the latest event if there is none yet (TTFT).
  double prefill_seconds() const;
  /// From the first token to the latest event.
  double decode_seconds() const;

  TranscriptKeeps keeps;
  std::vector<TranscriptSequence> sequences = {};  ///< all that are computed, also with best_of
  std::vector<float> embedding = {};               ///< EmbeddingEvent::values
  /// PromptLogprobsEvent::logprobs, if `keeps` has logprobs.
  std::shared_ptr<const PromptLogprobs> prompt_logprobs = {};
  std::optional<FinishedEvent> end = {};  ///< once the request has ended
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;      ///< of the prompt, found in the cache
  CachedTokens cached_from = {};  ///< these, by where they came from
  int64_t output_tokens = 0;      ///< of all sequences
  double submitted_seconds = 0;
  std::optional<double> admitted_seconds = {};     ///< for the first time
  std::optional<double> first_token_seconds = {};  ///< of any sequence
  double last_token_seconds = 0;
  double latest_seconds = 0;  ///< of all events

 private:
  void AddToken(const TokenEvent& token, double seconds, TranscriptSequence& sequence);
};

}  // namespace skald
