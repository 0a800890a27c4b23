/// Core: the engine without its thread. Requests in, steps, events out.
///
///     Step:  end what is over -> draw what waited for a mask -> plan -> admit -> reserve pages ->
///            draft -> forward -> sample and verify -> publish
///
/// Everything happens on the caller's thread, and time is what the clock says, so the simulation
/// (tests/sim) drives this very class. A step allocates nothing once its lists have grown.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/batch_builder.h"
#include "engine/cache_manager.h"
#include "engine/clock.h"
#include "engine/draft_length.h"
#include "engine/mask_maker.h"
#include "engine/network.h"
#include "engine/page_tier.h"
#include "engine/proposer.h"
#include "engine/request_state.h"
#include "engine/scheduler.h"
#include "engine/tenants.h"
#include "engine/token_budget.h"
#include "engine/token_chooser.h"
#include "engine/tracer.h"
#include "engine/waiting_queue.h"
#include "skald/engine_stats.h"
#include "skald/engine_view.h"

namespace skald::engine {

struct CoreLimits {
  int64_t context = 0;
  int64_t max_rows = 0;       ///< of a step; at least max_running
  int64_t max_chunk = 0;      ///< of these, prompt rows
  int64_t max_running = 0;    ///< sequences
  double target_seconds = 0;  ///< TokenBudget
  /// Later requests that the oldest waiting one of a tenant lets pass, give or take those admitted
  /// in one step; then it goes before all others. So no flood of requests, whatever their priority
  /// and their size, keeps it waiting for ever.
  int32_t max_overtaken = 64;
  int64_t least_draft = 0;     ///< DraftLength
  int64_t most_draft = 0;      ///< DraftLength
  int64_t max_draft_rows = 0;  ///< of a step; the network has logits for these and max_running
  DraftRule drafts = DraftRule::kAll;
  PromptRule prompts = PromptRule::kInChunks;
  int64_t mask_steps = kMaskStepsInStep;  ///< of all that a step makes, if there is a MaskMaker
};

/// What a core works with; all of it outlives the core.
struct CoreParts {
  Network& network;
  const Clock& clock;
  CacheManager& cache;
  const Scheduler& scheduler;
  TokenChooser& chooser;
  Proposer* proposer = nullptr;  ///< none: no speculation
  Tracer* tracer = nullptr;      ///< none: no record of what it does
  PageTier* tier = nullptr;      ///< none: what is evicted is gone
  MaskMaker* masks = nullptr;    ///< none: all masks are made in steps, whatever they take
};

/// One thread at a time.
class Core {
 public:
  Core(const CoreLimits& limits, const CoreParts& parts);
  /// Drops what is left without a word; CancelAll says it.
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Queues a request that CheckRequest has accepted.
  void Submit(Arrival arrival);
  /// Ends a request, in whatever state, and frees all it had. Unknown ids are over already.
  void Cancel(RequestId id);
  void CancelAll();
  /// Gives what is cached to the tier behind memory, if there is one. For the end.
  void PutAll();

  /// One step. Returns false if there was nothing to do: no request, or readers of all of them are
  /// slow.
  bool Step();
  /// The two halves of a step: who runs and waits in it is known before its forward pass, which may
  /// take seconds.
  void BeginStep();
  bool FinishStep();

  bool idle() const { return requests_.empty(); }
  /// For whoever has nothing else to do: makes memory ready for pages to come. False: enough is.
  bool CommitNext();
  int64_t waiting_count() const { return static_cast<int64_t>(waiting_.size()); }
  /// Counters, and the state of now.
  EngineStats Stats() const;
  /// Overwrites `*progress`, whose memory is used again.
  void Progress(std::vector<RequestProgress>* progress) const;
  /// Between BeginStep and FinishStep, of a list that Progress wrote and that has had what came
  /// since: takes out the requests that are over, and overwrites those that run or lost their pages
  /// in this step, if its plan has changed who does.
  void ProgressOfStep(std::vector<RequestProgress>* progress) const;

  /// Between BeginStep and FinishStep, for people who look: a view, and what the step is thought to
  /// take (infinite: that is not known). O(pages and nodes of the tree), with memory of its own.
  EngineView View() const;
  double ExpectedSeconds() const;

  /// Whether a sequence waits for its mask, and somebody reads what comes then.
  bool awaits_masks() const;

  /// For the invariants of the simulation.
  using Requests = std::vector<std::unique_ptr<RequestState>>;
  const Requests& requests() const { return requests_; }
  const std::vector<Sequence*>& running() const { return running_; }
  const std::vector<Sequence*>& waiting() const { return waiting_.sequences(); }
  const SchedulerState& scheduler_state() const { return state_; }
  /// Of its waiting ones, the sequences; some may be gone by now.
  const std::vector<Sequence*>& candidates() const { return candidates_; }
  const StepPlan& plan() const { return plan_; }
  const Budget& budget() const { return budget_; }

 private:
  // The rows of one sequence in the step being done.
  struct StepRows {
    Sequence* sequence;
    int64_t count;  // without drafts
    bool samples;
    int64_t drafts;
    RowReason reason;
  };
  // Those of which something is wanted: logits, or hidden states.
  struct OutputRows {
    int64_t first;  // among the rows of the sequence
    int64_t count;
  };

  // core.cc: the life of requests.
  Requests::const_iterator PlaceOf(RequestId id) const;
  RequestState* Find(RequestId id) const;
  void EndAll(FinishReason reason, const Status& status);
  void EndOverdue();
  void Park();
  void Displace();
  void Admit();
  void CountOvertaken(const RequestState& admitted);
  void MakeDue(RequestState* state);
  bool MayRunOneMore(const RequestState& request) const;
  void InsertRunning(Sequence* sequence);
  void AdmitOtherBeams(const Sequence& lead);
  void Preempt(Sequence* sequence, PreemptReason reason);
  void PreemptOne(Sequence* sequence, PreemptReason reason);
  void FinishSequence(Sequence* sequence, FinishReason reason);
  void FinishRequest(RequestState* state, FinishReason reason, Status status);
  void LookAtState(EngineStats* stats) const;
  void LookAtTier(EngineStats* stats) const;
  void CountTimes(const RequestState& ended, FinishReason reason);
  void Retire(Sequence* sequence);
  void RemoveFinished();
  void EmitEnd(RequestState* state, int32_t sequence, FinishReason reason, double score);
  Listening Emit(RequestState* state, Event* event);
  void EmitNote(const Sequence& sequence, decltype(Event::what) note);

  // core_plan.cc: what the scheduler sees.
  void MakePlan();
  void LookAtRunning();
  void LookAtWaiting();
  void LookAtSharing();
  const FreePlaces& PlacesNow();
  int64_t SharedTokens(const Sequence& a, const Sequence& b) const;
  bool WaitsForPrefix(const Sequence& sequence);
  bool IsBrought(Sequence* sequence) const;
  void LookAtPlaces();
  void ChargeTenants();
  RunningView ViewOf(const Sequence& sequence) const;
  void WishDrafts(int64_t decode_rows);
  int64_t AllowedDrafts(const Sequence& sequence) const;

  // core_step.cc: the forward pass and what follows from it.
  void ReservePages();
  void Reserve(const StepRows& rows);
  void ReserveDrafts(StepRows* rows);
  bool PrepareWrite(Sequence* sequence, int64_t count);
  void Propose();
  int64_t CatchUpRows() const;
  TokenBudget::Rows RowsOfStep() const;
  void PutHiddenLast();
  void BuildBatch();
  void NoteConsumed();
  static OutputRows OutputsOf(const StepRows& rows);
  void Apply();
  void Publish(const StepRows& rows);
  void CopyState(const kv::StateCopy& copy);
  void ApplyRows(const StepRows& rows, int64_t logit_index);
  void Pool(const StepRows& rows, int64_t hidden_index, int64_t count);
  void ApplyScored(const StepRows& rows, int64_t hidden_index, int64_t count);
  Status ScoreRows(const Sequence& sequence, int64_t hidden_index, int64_t count);
  void TellPrompt(RequestState* state);
  Result<std::vector<float>> ScoreOf(const Pooler& pooler);
  void Fork(Sequence* lead);
  bool FollowText(Sequence* sequence);
  void CutDraft(Sequence* sequence);
  void Sample(Sequence* sequence, std::span<const float> logits);
  void Draw(Sequence* sequence, std::span<const float> logits);
  void Verify(Sequence* sequence, int64_t logit_index);
  void Measure(double start_seconds);

  // core_masks.cc: sequences that wait for a mask.
  void AwaitMask(Sequence* sequence, std::span<const float> logits);
  void TakeMasks();
  void TakeMask(Sequence* sequence);

  // core_trace.cc: the record of the run. Only with a tracer.
  void TracePlanned();
  void TraceWaiting();
  void TraceRowsOfStep();
  void TraceForwardOfStep();
  void TraceStepped(int64_t rows);

  // core_view.cc
  ViewedStep ViewStep() const;
  void NotePast(double seconds);

  // core_beams.cc: beam search.
  void ResumeBeams();
  static int64_t HeldRows(const Sequence& sequence);
  static int64_t PagesOfOtherBeams(const Sequence& lead);
  void ApplyBeam(Sequence* beam, std::span<const float> logits);
  Result<std::span<const TokenLogprob>> ContinuationsOf(Sequence* beam,
                                                        std::span<const float> logits);
  Result<std::optional<FinishReason>> EndWith(Sequence* beam, TokenId token);
  void ExtendBeams(RequestState* state);
  void GrowBeams(RequestState* state);
  Sequence* ForkBeam(Sequence* parent);
  void TellBeams(RequestState* state);
  Listening TellToken(RequestState* state, int32_t sequence, TokenId token);

  const CoreLimits limits_;
  Network& network_;
  const Clock& clock_;
  CacheManager& cache_;
  const Scheduler& scheduler_;
  TokenChooser& chooser_;
  Proposer* const proposer_;
  Tracer* const tracer_;
  PageTier* const tier_;
  MaskMaker* const masks_;
  TokenBudget token_budget_;
  DraftLength draft_length_;

  Tenants tenants_;                 // of the requests
  Requests requests_;               // not over, by id
  std::vector<Sequence*> running_;  // with pages, in the order of GoesBefore
  WaitingQueue waiting_;            // without
  // Requests that EndOverdue must look at, by id, so that a step costs no more because many wait.
  std::set<std::pair<double, RequestId>> deadlines_;  // of all requests that have one
  std::vector<RequestId> watched_;   // nobody listens, or the found texts of beams are to be told
  std::vector<RequestId> ending_;    // of these, for EndOverdue
  std::vector<RequestId> finished_;  // for RemoveFinished

  double step_began_seconds_ = 0;
  bool traced_plan_ = false;      // of the step: its end is to be told, too
  int64_t preempted_before_ = 0;  // the step
  int64_t turn_ = 0;              // steps that had rows for prompts
  ViewedPast last_;               // for people who look

  // Of the step being done; members, so that their memory is used again.
  Budget budget_;
  SchedulerState state_;
  std::vector<Sequence*> candidates_;  // of state_.waiting
  std::vector<RequestState*> oldest_;  // for CountOvertaken
  FreePlaces free_places_;             // for Pick
  StepPlan plan_;
  std::vector<StepRows> step_;
  std::vector<StepRows> hidden_step_;  // of these, for PutHiddenLast
  std::vector<RunningView> victims_;
  std::vector<Sequence*> displaced_;
  std::vector<Sequence*> arrived_;      // for TakeMasks
  std::vector<Sequence*> preempted_;    // of them and others, those that lost their pages
  std::vector<Extension> extensions_;   // of the beams of a request
  std::vector<Sequence*> spare_beams_;  // without extensions
  std::vector<Sequence*> grown_beams_;
  std::vector<kv::PageCopy> copies_;
  std::vector<DraftWish> wishes_;
  int64_t caught_up_rows_ = 0;  // of a draft model
  BatchBuilder batch_;
  Event token_event_ = {.what = TokenEvent{}};
  EngineStats stats_;
};

}  // namespace skald::engine
