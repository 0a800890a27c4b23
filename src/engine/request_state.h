/// RequestState and Sequence: one request on its way, as plain data with its legal transitions.
///
///     kQueued ----> kPrefill ----> kDecode ----> kFinished
///                    ^    |           |
///                    |    v           v
///                    kPreempted <-----+           and from everywhere to kFinished
///
/// The sequence is what is scheduled. It has tokens (prompt, then output) of which the first
/// `computed` stand in its pages; the row of the last token gives the logits of the next one. So
/// decode is a remainder of one token, prefill a longer one, and a preempted sequence resumes by
/// computing what is no longer cached: nothing else tells them apart. Without a remainder it waits
/// for a mask.
///
/// A request has one sequence until its prompt is computed, then all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/beam_search.h"
#include "engine/constrained_text.h"
#include "engine/draft_length.h"
#include "engine/mask_maker.h"
#include "engine/pooler.h"
#include "engine/prompt_scorer.h"
#include "engine/state_places.h"
#include "engine/tenants.h"
#include "kv/page_table.h"
#include "kv/prefix_tree.h"
#include "kv/state_pool.h"
#include "sampling/filters.h"
#include "skald/engine_stats.h"
#include "skald/request.h"
#include "skald/trace.h"

namespace skald::engine {

/// How often a running sequence may be displaced by others of higher priority. Each time costs at
/// most what it has computed.
inline constexpr int32_t kMaxDisplaced = 4;

enum class Phase : uint8_t { kQueued, kPrefill, kDecode, kPreempted, kFinished };

/// True if a sequence may go from one phase to the other.
bool IsLegal(Phase from, Phase to);

struct RequestState;

/// What the tokens of a draft were drawn from, for SpeculationRule::kRejection.
struct DraftChances {
  std::vector<sampling::Candidate> candidates;  ///< of all tokens, those of each by token
  std::vector<size_t> ends;                     ///< where those of each token end

  void Clear();
  /// Of the token at `index`; none if it could be no other.
  std::span<const sampling::Candidate> At(size_t index) const;
};

/// Whether a prefix is brought back from a tier behind memory (page_tier.h), while its sequence
/// waits.
enum class Fetch : uint8_t { kNotAsked, kOnItsWay, kOver };
struct Fetching {
  Fetch fetch = Fetch::kNotAsked;
  int64_t from = 0;  ///< what was brought back for it: tokens [from, to)
  int64_t to = 0;
};

struct Sequence {
  Sequence(RequestState* owner_request, int32_t sequence_index, kv::PageTable empty_table)
      : request(owner_request), index(sequence_index), table(std::move(empty_table)) {}

  RequestState* request;
  int32_t index;                ///< in the request; RandomKey::sequence
  std::vector<TokenId> tokens;  ///< prompt and output
  int64_t computed = 0;         ///< leading tokens whose K and V stand in the pages
  kv::PageTable table;
  kv::PrefixTree::Pin pin;  ///< where in the tree the computed tokens end
  kv::StateSlot state;      ///< what recurrent layers carry, behind `consumed` tokens
  /// The computed tokens, and between a forward pass and Publish those of the pass.
  int64_t consumed = 0;
  StatePlaces places;  ///< where it leaves snapshots for others
  /// Of the snapshot that it left when it gave up its place.
  kv::PrefixTree::Ticket ticket = kv::PrefixTree::kNoTicket;
  double mu = 0;           ///< Mirostat's, of the next token; stays when the pages go, as tokens do
  double logprob_sum = 0;  ///< of the output, if log probabilities are computed
  double last_token_seconds = 0;
  int32_t displaced = 0;       ///< how often it gave way to a higher priority
  int64_t last_turn = 0;       ///< of the core, in which its prompt had rows, or it lost its pages
  std::vector<TokenId> draft;  ///< guessed in this step, behind `tokens` as they were at its start
  DraftChances draft_chances;
  int64_t draft_accepted = 0;  ///< of these, leading tokens that were sampled
  DraftRecord draft_record;
  /// Behind the output, once TokenChooser::Follow has been there; of a request with a constraint.
  /// Given up with the pages, and made again from the output.
  std::optional<ConstrainedText> text;
  /// Of a sequence whose last row is computed and whose token waits for a mask.
  std::unique_ptr<AwaitedMask> awaited;
  Fetching fetching;
  std::optional<FinishReason> end;       ///< set when its last token was sampled
  std::optional<WaitReason> told_waits;  ///< the last that the record of the run was told

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  int64_t remaining() const { return length() - computed; }
  std::span<const TokenId> prompt() const;
  std::span<const TokenId> output() const;

  /// Forgets the guesses, and what they were drawn from.
  void DropDraft();

  Phase phase() const { return phase_; }
  bool running() const { return phase_ == Phase::kPrefill || phase_ == Phase::kDecode; }
  /// CHECKs that the transition is legal.
  void MoveTo(Phase next);

 private:
  Phase phase_ = Phase::kQueued;
};

/// A beam search on its way.
struct BeamState {
  BeamSearch search;
  int64_t continuations = 0;    ///< of each beam that can matter
  std::vector<Sequence*> live;  ///< the beams, best first; none before the prompt is computed
  int64_t offered = 0;          ///< beams whose continuations are known; others wait for masks
  bool over = false;            ///< only telling is left
  size_t told_tokens = 0;       ///< of the text being told
  FinishReason reason = FinishReason::kStop;  ///< of the best text, once it is told

  /// Beams offered, others waited for their masks, and now all have lost their pages.
  void TakeOffersBack();
};

/// A request inside the engine.
struct RequestState {
  RequestId id = {};
  Request request;  ///< its prompt has moved to the first sequence
  std::shared_ptr<EventSink> sink;
  int64_t prompt_tokens = 0;
  /// The request's parameters until min_tokens are out: nothing that ends the text is chosen.
  std::optional<SamplingParams> early_sampling;
  std::optional<Pooler> pooler;        ///< of a request for an embedding
  std::optional<PromptScorer> scorer;  ///< of one for the log probabilities of its prompt
  std::optional<BeamState> beams;      ///< of a beam search
  double submitted_seconds = 0;
  double deadline_seconds = std::numeric_limits<double>::infinity();
  std::vector<std::unique_ptr<Sequence>> sequences;
  /// Sequences of the answer that have not ended, those not forked yet included.
  int32_t unfinished = 0;
  bool admitted = false;  ///< at least once
  double admitted_seconds = 0;
  int64_t cached_tokens = 0;  ///< found in the cache when it was admitted first
  std::optional<double> first_token_seconds;
  Tenant* tenant = nullptr;
  double mask_seconds = 0;  ///< that its masks took beside the steps
  int32_t priority = 0;     ///< the request's, until it has been overtaken too often
  int32_t overtaken = 0;    ///< later requests that were admitted while it waited
  bool due = false;         ///< overtaken too often: nobody is admitted before it
  bool gone = false;        ///< nobody listens: cancel

  /// Leading tokens of a sequence of `length` tokens that may come from the cache: all but those
  /// whose logits or hidden states are wanted.
  int64_t ReusableTokens(int64_t length) const {
    if (pooler) return std::min(pooler->FirstWanted(length), length - 1);
    return scores() ? std::min(scorer->next(), length - 1) : length - 1;
  }
  /// Rows of the prompt are wanted for its log probabilities.
  bool scores() const { return scorer && !scorer->done(); }
  /// What is wanted of the rows of its prompt are hidden states, of which the log probabilities
  /// are made.
  bool wants_hidden() const { return pooler || scores(); }
  /// Sequences that will come when the prompt is computed, or that a beam search may still add.
  int32_t unforked() const;
  /// The first of the sequences that have not ended: it stands for all of a beam search.
  const Sequence* lead() const;
  /// True if one of its sequences has no pages.
  bool waits() const;
  /// Events that must fit before another token is sampled: a token and an end of each sequence,
  /// and the end of the request; before them what the prompt's log probabilities are.
  int64_t events_per_step() const {
    const bool tells_prompt = scorer && scorer->is_to_tell();
    return 2 * int64_t{request.sequence_count()} + 1 + int64_t{tells_prompt};
  }
  /// Its reader is slow: no token may be sampled.
  bool paused() const { return !sink->HasRoom(events_per_step()); }
};

/// True if `a` goes first: higher priority, then earlier Submit, then lower sequence.
bool GoesBefore(const Sequence& a, const Sequence& b);

/// How far it is.
RequestProgress ProgressOf(const RequestState& request);

/// FinishedEvent::answer: with best_of the n sequences whose tokens have the highest mean log
/// probability.
std::vector<int32_t> AnswerOf(const RequestState& request);

/// A request that CheckRequest (request_check.h) has accepted, as it enters the engine. `pool` is
/// for the page table of its first sequence; `end_tokens` are the model's own.
struct Arrival {
  RequestId id = {};
  Request request;
  std::shared_ptr<EventSink> sink;
  double seconds = 0;  ///< when it was submitted
};
/// How far one is that has not entered yet: nowhere.
RequestProgress ProgressOf(const Arrival& arrival);
std::unique_ptr<RequestState> MakeState(Arrival arrival, std::span<const TokenId> end_tokens,
                                        kv::PagePool* pool, int64_t context);

/// The sequence number `index` of the same request, which shares all computed positions of `lead`.
std::unique_ptr<Sequence> ForkSequence(Sequence* lead, int32_t index, int64_t context);

}  // namespace skald::engine
