/// Tracer: what a core tells the record of its run (skald/trace.h). Without a ring there is none,
/// and each place that would tell something costs the look at a null pointer.
#pragma once

#include <cstdint>
#include <span>

#include "engine/clock.h"
#include "engine/request_state.h"
#include "engine/token_chooser.h"
#include "kv/page_id.h"
#include "skald/trace.h"

namespace skald::engine {

/// Called by the thread that steps the core. Allocates nothing, waits for nobody.
class Tracer {
 public:
  /// Both outlive the tracer.
  Tracer(TraceRing* ring, const Clock& clock) : ring_(*ring), clock_(clock) {}

  /// What the chooser is to say of each token.
  sampling::OddsRule odds() const {
    return ring_.model_probabilities() ? sampling::OddsRule::kOfModel : sampling::OddsRule::kOfDraw;
  }

  // Of requests and sequences, each when it has happened.
  void Queued(const Sequence& lead);
  /// Unless it is for the same reason as the last time.
  void Waits(Sequence* sequence, WaitReason reason);
  /// First admitted, or `resumes`: with the pages that it was matched with.
  void Admitted(const Sequence& sequence, const CachedTokens& from);
  void Resumed(const Sequence& sequence, const CachedTokens& from);
  /// Its pages are another's of the same request.
  void Forked(const Sequence& sequence) { Pages(sequence, PageAct::kShared, 0); }
  /// CacheManager::PrepareWrite has been asked, when the sequence had `pages_before` pages:
  /// `copies` are its copies, `evicted` the pages that left the tree for it.
  void Wrote(const Sequence& sequence, size_t pages_before, std::span<const kv::PageCopy> copies,
             int64_t evicted);
  /// So many pages left the tree for it.
  void Evicted(const Sequence& sequence, int64_t count);
  void Snapshot(const Sequence& sequence);
  /// Records of its prefix have come from files: it went on from `from` tokens, and now from `to`.
  void Brought(const Sequence& sequence, const TraceBrought& brought) {
    AppendOf(sequence, brought);
  }
  void Chunk(const Sequence& sequence);
  void Token(const Sequence& sequence, const ChosenToken& chosen, int64_t index);
  /// A token of a text that a beam search has found.
  void BeamToken(const RequestState& request, int32_t sequence, TokenId token, int64_t index);
  void Guess(const Sequence& sequence, int64_t tokens, int64_t kept);
  /// Before it has.
  void Preempted(const Sequence& sequence, PreemptReason reason);
  void Ended(const RequestState& request, int32_t sequence, FinishReason reason);
  void Finished(const RequestState& request, FinishReason reason);

  // Of steps.
  void Planned(const TracePlan& plan) { Append(plan); }
  void Rows(const Sequence& sequence, const TraceRows& rows) { AppendOf(sequence, rows); }
  void Forward(const TraceForward& forward) { Append(forward); }
  void Computed() { Append(TraceComputed{}); }
  void Stepped(const TraceStep& step) { Append(step); }

 private:
  void Append(const TraceBody& body);
  void AppendOf(const RequestState& request, int32_t sequence, const TraceBody& body);
  void AppendOf(const Sequence& sequence, const TraceBody& body) {
    AppendOf(*sequence.request, sequence.index, body);
  }
  void Pages(const Sequence& sequence, PageAct act, size_t first);

  TraceRing& ring_;
  const Clock& clock_;
};

}  // namespace skald::engine
