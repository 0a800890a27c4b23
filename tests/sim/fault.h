/// Fault: mistakes an engine could make, planted one at a time to show that the simulation would
/// notice. They act in subclasses of the engine's parts that only the simulation builds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace skald::sim {

enum class Fault : uint8_t {
  kNone,
  kPageFreedTwice,
  kPageLeaked,
  kFinishedKeepsPages,
  kSharedPageWritten,
  kCopyForgotten,
  kCopyOneShort,
  kCopyOfWrongPage,
  kWriteShifted,
  kReadOneTooFew,
  kReadOneTooMany,
  kPagesSwapped,
  kLogitsOfOtherRow,
  kMatchOneTooLong,
  kLookUpWithoutPin,
  kNamespaceLost,
  kNamespaceLostOnMiss,
  kPublishedTooEarly,
  kPublishedWrongTokens,
  kResumedAtWrongPosition,
  kSampledTokenLost,
  kForkMissesTokens,
  kForkOneTooLong,
  kRandomShared,
  kRandomByOrder,
  kRandomAfterPreemption,
  kStopTokenLate,
  kStopTokenIgnored,
  kStopStringLate,
  kStopEndsSiblings,
  kLengthOffByOne,
  kContextOffByOne,
  kOldestPreempted,
  kDecodeLast,
  kPlanOverBudget,
  kPlacesIgnored,
  kOvertaking,
  kPreemptedForgotten,
  kStaleAfterRejection,
  kDraftBelieved,
  kDraftRowsOverBudget,
  kStaleDraftPage,
  kBeamKeepsPages,
  kEqualDisplaced,
  kDisplacedWithoutEnd,
};

struct FaultName {
  Fault fault;
  std::string_view name;
};

/// All of them but kNone.
inline constexpr std::array kFaults = {
    FaultName{Fault::kPageFreedTwice, "a page is freed twice"},
    FaultName{Fault::kPageLeaked, "a page is never freed"},
    FaultName{Fault::kFinishedKeepsPages, "a finished sequence keeps its pages"},
    FaultName{Fault::kSharedPageWritten, "a shared page is written in place"},
    FaultName{Fault::kCopyForgotten, "a shared page is replaced but not copied"},
    FaultName{Fault::kCopyOneShort, "a copy lacks the last position"},
    FaultName{Fault::kCopyOfWrongPage, "a copy is of the page beside"},
    FaultName{Fault::kWriteShifted, "K and V are written one position too far"},
    FaultName{Fault::kReadOneTooFew, "the first position is not read"},
    FaultName{Fault::kReadOneTooMany, "one position too many is read"},
    FaultName{Fault::kPagesSwapped, "two pages of a sequence are swapped"},
    FaultName{Fault::kLogitsOfOtherRow, "logits are of another row"},
    FaultName{Fault::kMatchOneTooLong, "a match is one token too long"},
    FaultName{Fault::kLookUpWithoutPin, "a look-up holds no references"},
    FaultName{Fault::kNamespaceLost, "the namespace is lost when looking up"},
    FaultName{Fault::kNamespaceLostOnMiss, "a miss is looked up in another namespace"},
    FaultName{Fault::kPublishedTooEarly, "a token is published before it is computed"},
    FaultName{Fault::kPublishedWrongTokens, "pages are published under other tokens"},
    FaultName{Fault::kResumedAtWrongPosition, "a preempted sequence resumes one too far"},
    FaultName{Fault::kSampledTokenLost, "a preempted sequence loses its sampled token"},
    FaultName{Fault::kForkMissesTokens, "a fork misses the last prompt token"},
    FaultName{Fault::kForkOneTooLong, "a fork copies the token of its sibling"},
    FaultName{Fault::kRandomShared, "siblings share random numbers"},
    FaultName{Fault::kRandomByOrder, "random numbers depend on the order of sampling"},
    FaultName{Fault::kRandomAfterPreemption, "random numbers change after a preemption"},
    FaultName{Fault::kStopTokenLate, "the text is cut one token late"},
    FaultName{Fault::kStopTokenIgnored, "a stop token is ignored while others run"},
    FaultName{Fault::kStopStringLate, "a stop string cuts one token late"},
    FaultName{Fault::kStopEndsSiblings, "a stop string ends all sequences"},
    FaultName{Fault::kLengthOffByOne, "one token more than max_tokens"},
    FaultName{Fault::kContextOffByOne, "the context ends one token early"},
    FaultName{Fault::kOldestPreempted, "the oldest is preempted"},
    FaultName{Fault::kDecodeLast, "prompts go before decode"},
    FaultName{Fault::kPlanOverBudget, "a step has more rows than its budget"},
    FaultName{Fault::kPlacesIgnored, "more sequences run than allowed"},
    FaultName{Fault::kOvertaking, "small requests overtake one that does not fit"},
    FaultName{Fault::kPreemptedForgotten, "a preempted sequence is never resumed"},
    FaultName{Fault::kStaleAfterRejection, "the position of a rejected draft stays as it was"},
    FaultName{Fault::kDraftBelieved, "a draft is believed unchecked"},
    FaultName{Fault::kDraftRowsOverBudget, "guesses take rows that are not there"},
    FaultName{Fault::kStaleDraftPage, "a draft model keeps the position of a wrong guess"},
    FaultName{Fault::kBeamKeepsPages, "a beam goes on with another's tokens in its own pages"},
    FaultName{Fault::kEqualDisplaced, "an equal priority displaces"},
    FaultName{Fault::kDisplacedWithoutEnd, "a sequence is displaced without end"},
};

}  // namespace skald::sim
