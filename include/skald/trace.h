/// Trace: the record of a run, event by event, as plain values.
///
///     auto ring = std::make_shared<TraceRing>(TraceOptions{});
///     Result<Engine> engine = Engine::Create(model, {.trace = ring});
///     std::vector<TraceEvent> events;
///     ring->Take(&events);  // again and again, on a thread of the caller's
///     for (const TraceEvent& event : events) file << TraceLine(event, {}) << '\n';
///
/// The engine appends to the ring and never waits for whoever takes from it: what finds no room is
/// counted, and the record says where it is missing. An event is a struct of numbers, so that a
/// step with a record allocates nothing either. No bit of an answer depends on it.
///
/// A request's events, in their order:
///
///   queued, prompt ... -> (waits ...) -> admitted -> rows, pages, chunk ... -> rows, token ...
///    -> ended -> finished           and, where its pages went to others: preempted -> resumed
///
/// A step's events, of no request (their `request` is 0):
///
///   plan -> (rows of each sequence) -> forward -> computed -> (tokens, chunks, ends) -> step
///
/// docs/trace.md is the same as a file: each event is an object on a line, behind a first line that
/// says whose record it is (TraceHeader).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Of the lines. Readers skip events and fields that they do not know, so new ones do not change
/// it; a change of what is there does.
inline constexpr int kTraceVersion = 1;

/// A number that is not known here.
inline constexpr double kTraceUnknown = std::numeric_limits<double>::quiet_NaN();

/// Why a sequence has the rows that it has in a step (docs/scheduling.md).
enum class RowReason : uint8_t {
  kDecode,    ///< its next token: every stream gets its row
  kRank,      ///< its prompt comes first by tenant, priority and rows left
  kPatience,  ///< its prompt has waited longest of those that rank has given nothing
  kDue,       ///< it has been overtaken too often, and goes before all
};

/// Why a request that waits is not admitted in a step.
enum class WaitReason : uint8_t {
  kPrefix,  ///< another computes the beginning that both have in common
  kTenant,  ///< its tenant runs as many as it may
  kDue,     ///< one that was overtaken too often goes first
  kPlaces,  ///< as many sequences run as can
  kPages,   ///< its pages do not fit beside those of the running ones
  kRows,    ///< the rows of the step are given to others
};

/// Why a sequence has lost its place and its pages.
enum class PreemptReason : uint8_t {
  kDisplaced,  ///< for a request of higher priority, or another tenant's part
  kReader,     ///< its reader is slow, and others wait
  kPages,      ///< there were none left for the rows of a step
};

/// What became of pages.
enum class PageAct : uint8_t {
  kShared,   ///< found in the prefix tree: another sequence has computed them
  kTaken,    ///< free ones, for rows to come
  kCopied,   ///< shared and partly filled ones: the sequence writes into copies
  kEvicted,  ///< out of the prefix tree, for whoever takes pages next
};

/// Why a sequence or a request has ended. The values of FinishReason (skald/request.h).
enum class TraceEnd : uint8_t { kStop, kLength, kContext, kCancelled, kDeadline, kError };

/// A list of ids, as many as an event has room for. Longer ones take several events.
template <typename Id, size_t kRoom>
struct TraceList {
  std::array<Id, kRoom> ids = {};
  uint8_t count = 0;

  static constexpr size_t room() { return kRoom; }
  bool operator==(const TraceList&) const = default;
};

/// A short text: what is longer is cut.
struct TraceName {
  std::array<char, 32> text = {};

  TraceName() = default;
  explicit TraceName(std::string_view name);
  std::string_view view() const;
  bool operator==(const TraceName&) const = default;
};

/// A request is accepted.
struct TraceQueued {
  int64_t prompt_tokens = 0;
  int64_t max_tokens = -1;  ///< StopRules
  int32_t sequences = 1;    ///< of the answer
  int32_t priority = 0;
  int64_t tenant = 0;
  // SamplingParams
  uint64_t seed = 0;
  double temperature = 0;
  int32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double typical_p = 1;
};

/// Tokens of its prompt, from position `first` on.
struct TracePrompt {
  int64_t first = 0;
  TraceList<TokenId, 16> tokens = {};
};

/// It waits, for another reason than before.
struct TraceWaits {
  WaitReason reason = WaitReason::kRows;
};

/// It has pages for the first time.
struct TraceAdmitted {
  int64_t cached = 0;  ///< leading tokens found in the prefix tree
  int64_t disk = 0;    ///< of these, brought back from files for it
  int64_t length = 0;  ///< tokens
};

/// A sequence has pages again.
struct TraceResumed {
  int64_t cached = 0;
  int64_t disk = 0;
  int64_t length = 0;
};

/// Pages of a sequence. Ids in the order of the text; none of evicted ones, whoever had them.
struct TracePages {
  PageAct act = PageAct::kTaken;
  int64_t count = 0;  ///< as many as `ids` has, but for kEvicted
  int64_t first = 0;  ///< index of the first in the sequence's page table
  TraceList<int32_t, 8> ids = {};
};

/// A copy of a sequence's recurrent state stays in the prefix tree.
struct TraceSnapshot {
  int64_t position = 0;  ///< behind so many tokens
};

/// What came from files of the prefix of a sequence that waits; it waits for them no more.
struct TraceBrought {
  int64_t from = 0;     ///< leading tokens that memory had to go on from
  int64_t to = 0;       ///< that it has now; as many if nothing of use came in time
  int64_t records = 0;  ///< that came: pages, window pages and states are cut into these
  int64_t bytes = 0;    ///< of these
  double seconds = 0;   ///< since they were asked for
};

/// What a step is to compute.
struct TracePlan {
  int64_t step = 0;           ///< 0 for the first of the engine
  int64_t decode_rows = 0;    ///< of streams
  int64_t prompt_rows = 0;    ///< of prompts
  int64_t prompt_budget = 0;  ///< rows that prompts may have had
  int64_t admitted = 0;       ///< sequences
  int64_t displaced = 0;      ///< sequences
  int64_t running = 0;        ///< sequences, before this plan is carried out
  int64_t waiting = 0;        ///< sequences
  double seconds = 0;         ///< that planning took
};

/// Rows of one sequence in the step, once their pages are there.
struct TraceRows {
  int64_t first = 0;     ///< position of the first
  int64_t count = 0;     ///< without those of guesses
  int64_t guesses = 0;   ///< tokens that may be guessed
  bool samples = false;  ///< the last row gives a token
  RowReason reason = RowReason::kDecode;
};

/// The forward pass begins.
struct TraceForward {
  int64_t rows = 0;        ///< with those of guesses
  int64_t logit_rows = 0;  ///< of these, rows whose logits are wanted
};

/// The forward pass is done.
struct TraceComputed {};

/// The rows of a part of a prompt are computed.
struct TraceChunk {
  int64_t computed = 0;  ///< tokens
  int64_t length = 0;    ///< of so many
};

/// What became of the tokens that were guessed for a sequence.
struct TraceGuess {
  int64_t tokens = 0;
  int64_t kept = 0;
};

/// A token is chosen.
struct TraceToken {
  TokenId token = kNoToken;
  int64_t index = 0;     ///< in the output of its sequence
  bool guessed = false;  ///< it was guessed before
  /// Its probability before all filters: under the model's own distribution. Known where it is
  /// asked for (TraceOptions, or log probabilities by the request).
  double p_model = kTraceUnknown;
  /// Its probability in the draw, among the candidates that the filters left. Unknown for beams,
  /// and in place of a guess that the rule kRejection refused.
  double p_drawn = kTraceUnknown;
  /// The number drawn for it, in [0, 1): the candidate with the least -log(1 - draw) / p_drawn wins
  /// (filters.h). Unknown where nothing is drawn.
  double draw = kTraceUnknown;
  int64_t candidates = 0;  ///< that all filters left; 1 if the choice is greedy; 0: unknown
  // That each filter left, in their order; 0 where it is off.
  int64_t left_top_n_sigma = 0;
  int64_t left_top_k = 0;
  int64_t left_typical = 0;
  int64_t left_top_p = 0;
  int64_t left_min_p = 0;
};

/// A sequence has lost its place and its pages.
struct TracePreempted {
  PreemptReason reason = PreemptReason::kPages;
  int64_t computed = 0;  ///< tokens whose K and V it had
  int64_t length = 0;    ///< tokens, which it keeps
};

/// A sequence has ended.
struct TraceEnded {
  TraceEnd reason = TraceEnd::kStop;
};

/// A request has ended.
struct TraceFinished {
  TraceEnd reason = TraceEnd::kStop;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  ///< of these, found in the cache when it was admitted
};

/// A step is done. Counts are those of now.
struct TraceStep {
  int64_t step = 0;
  int64_t rows = 0;  ///< computed, those of guesses too; 0 if nothing was left to compute
  int64_t prompt_rows = 0;
  double seconds = 0;  ///< since planning began
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t pages_free = 0;
  int64_t pages_held = 0;    ///< by running sequences
  int64_t pages_cached = 0;  ///< by the prefix tree alone
};

/// Here so many events found no room in the ring.
struct TraceLost {
  int64_t count = 0;
};

/// A test of `skald bench` was computed once.
struct TraceRepetition {
  int64_t prompt_tokens = 0;
  int64_t decode_tokens = 0;
  int64_t batch = 0;
  int64_t depth = 0;
  double seconds = 0;
};

/// Of that test, an operation: all its calls together (`skald bench --profile`).
struct TraceOperation {
  TraceName operation = {};
  double seconds = 0;
  double macs = 0;  ///< multiply-accumulates
  double bytes = 0;
};

using TraceBody =
    std::variant<TraceQueued, TracePrompt, TraceWaits, TraceAdmitted, TraceResumed, TracePages,
                 TraceSnapshot, TraceBrought, TracePlan, TraceRows, TraceForward, TraceComputed,
                 TraceChunk, TraceGuess, TraceToken, TracePreempted, TraceEnded, TraceFinished,
                 TraceStep, TraceLost, TraceRepetition, TraceOperation>;

/// Something that happened.
struct TraceEvent {
  double seconds = 0;    ///< when, since the engine was made
  uint64_t request = 0;  ///< RequestId; 0: of no request
  int32_t sequence = 0;  ///< of the request
  TraceBody body = {};
};

/// What a ring is made for.
struct TraceOptions {
  int64_t capacity = int64_t{1} << 15;  ///< events, of some 150 bytes; 2 at least
  /// TraceToken::p_model of every token: an exponential for each token of the vocabulary, 0.3 ms
  /// for 128,256.
  bool model_probabilities = false;
};

/// Events on their way from the thread that computes to one that writes. One thread appends, one
/// takes, at the same time; no lock, and nobody waits.
class TraceRing {
 public:
  /// Takes the memory of all events.
  explicit TraceRing(const TraceOptions& options);
  ~TraceRing();
  TraceRing(const TraceRing&) = delete;
  TraceRing& operator=(const TraceRing&) = delete;

  bool model_probabilities() const;

  /// Appends an event. Where there is no room for it, it is lost, and a TraceLost stands before the
  /// next that finds room.
  void Append(const TraceEvent& event);

  /// Appends all events of the ring to `*events`, oldest first.
  void Take(std::vector<TraceEvent>* events);

  /// Events lost since the ring was made. Any thread.
  int64_t lost_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whose record it is: the first line.
struct TraceHeader {
  int64_t version = kTraceVersion;
  std::string program = {};  ///< "skald 0.7.0"
  std::string command = {};  ///< "run", "chat", "serve", "bench"
  int64_t numerics = 0;      ///< kNumericsVersion
  int64_t started = 0;       ///< seconds since 1970
  std::string cpu = {};
  std::string model = {};
  std::string architecture = {};
  std::string weights = {};  ///< type of most of them
  int64_t parameters = 0;
  std::string isa = {};
  int64_t threads = 0;
  int64_t context = 0;           ///< positions
  int64_t max_running = 0;       ///< sequences
  std::string kv_type = {};      ///< of K and V
  std::string speculation = {};  ///< "off", "ngram", "draft", "chain"
};

/// A line of a record.
struct TraceRecord {
  TraceEvent event = {};
  std::vector<std::string> texts = {};  ///< of its tokens, where the line has them
};

/// The first line, without a newline.
std::string TraceHeaderLine(const TraceHeader& header);

/// An event as a line, without a newline. `texts`: of each of its tokens the bytes, of which what
/// is no UTF-8 (part of a character) becomes U+FFFD; or none.
std::string TraceLine(const TraceEvent& event, std::span<const std::string> texts);

/// Reads a first line. Errors: kInvalidArgument: no JSON, no first line of a record, a version that
/// this one does not know.
Result<TraceHeader> ParseTraceHeader(std::string_view line);

/// Reads any other line; nothing, if the event is one that this version does not know. Errors:
/// kInvalidArgument: no JSON, no event, a field that is missing or out of its range.
Result<std::optional<TraceRecord>> ParseTraceLine(std::string_view line);

/// "queued", "rows": what the line of an event calls it.
std::string_view TraceEventName(const TraceEvent& event);
/// "decode", "rank", "patience", "due": likewise.
std::string_view RowReasonName(RowReason reason);

}  // namespace skald
