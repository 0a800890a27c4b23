/// Shapes: what each event is called in a line, and its fields. The one table that lines are
/// written and read by.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "skald/trace.h"

namespace skald::trace {

template <typename Owner, typename Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
};
template <typename Owner, typename Value>
Field(std::string_view, Value Owner::*) -> Field<Owner, Value>;

/// Of an event, or of the first line: kName and kFields.
template <typename Owner>
struct Shape;

template <>
struct Shape<TraceHeader> {
  static constexpr std::string_view kName = "trace";
  static constexpr auto kFields = std::tuple(
      Field{"version", &TraceHeader::version}, Field{"program", &TraceHeader::program},
      Field{"command", &TraceHeader::command}, Field{"numerics", &TraceHeader::numerics},
      Field{"started", &TraceHeader::started}, Field{"cpu", &TraceHeader::cpu},
      Field{"model", &TraceHeader::model}, Field{"architecture", &TraceHeader::architecture},
      Field{"weights", &TraceHeader::weights}, Field{"parameters", &TraceHeader::parameters},
      Field{"isa", &TraceHeader::isa}, Field{"threads", &TraceHeader::threads},
      Field{"context", &TraceHeader::context}, Field{"max_running", &TraceHeader::max_running},
      Field{"kv_type", &TraceHeader::kv_type}, Field{"speculation", &TraceHeader::speculation});
};

template <>
struct Shape<TraceQueued> {
  static constexpr std::string_view kName = "queued";
  static constexpr auto kFields = std::tuple(
      Field{"prompt_tokens", &TraceQueued::prompt_tokens},
      Field{"max_tokens", &TraceQueued::max_tokens}, Field{"sequences", &TraceQueued::sequences},
      Field{"priority", &TraceQueued::priority}, Field{"tenant", &TraceQueued::tenant},
      Field{"seed", &TraceQueued::seed}, Field{"temperature", &TraceQueued::temperature},
      Field{"top_k", &TraceQueued::top_k}, Field{"top_p", &TraceQueued::top_p},
      Field{"min_p", &TraceQueued::min_p}, Field{"typical_p", &TraceQueued::typical_p});
};

template <>
struct Shape<TracePrompt> {
  static constexpr std::string_view kName = "prompt";
  static constexpr auto kFields =
      std::tuple(Field{"first", &TracePrompt::first}, Field{"tokens", &TracePrompt::tokens});
};

template <>
struct Shape<TraceWaits> {
  static constexpr std::string_view kName = "waits";
  static constexpr auto kFields = std::tuple(Field{"reason", &TraceWaits::reason});
};

template <>
struct Shape<TraceAdmitted> {
  static constexpr std::string_view kName = "admitted";
  static constexpr auto kFields =
      std::tuple(Field{"cached", &TraceAdmitted::cached}, Field{"disk", &TraceAdmitted::disk},
                 Field{"length", &TraceAdmitted::length});
};

template <>
struct Shape<TraceResumed> {
  static constexpr std::string_view kName = "resumed";
  static constexpr auto kFields =
      std::tuple(Field{"cached", &TraceResumed::cached}, Field{"disk", &TraceResumed::disk},
                 Field{"length", &TraceResumed::length});
};

template <>
struct Shape<TracePages> {
  static constexpr std::string_view kName = "pages";
  static constexpr auto kFields =
      std::tuple(Field{"act", &TracePages::act}, Field{"count", &TracePages::count},
                 Field{"first", &TracePages::first}, Field{"ids", &TracePages::ids});
};

template <>
struct Shape<TraceSnapshot> {
  static constexpr std::string_view kName = "snapshot";
  static constexpr auto kFields = std::tuple(Field{"position", &TraceSnapshot::position});
};

template <>
struct Shape<TraceBrought> {
  static constexpr std::string_view kName = "brought";
  static constexpr auto kFields =
      std::tuple(Field{"from", &TraceBrought::from}, Field{"to", &TraceBrought::to},
                 Field{"records", &TraceBrought::records}, Field{"bytes", &TraceBrought::bytes},
                 Field{"seconds", &TraceBrought::seconds});
};

template <>
struct Shape<TracePlan> {
  static constexpr std::string_view kName = "plan";
  static constexpr auto kFields = std::tuple(
      Field{"step", &TracePlan::step}, Field{"decode_rows", &TracePlan::decode_rows},
      Field{"prompt_rows", &TracePlan::prompt_rows},
      Field{"prompt_budget", &TracePlan::prompt_budget}, Field{"admitted", &TracePlan::admitted},
      Field{"displaced", &TracePlan::displaced}, Field{"running", &TracePlan::running},
      Field{"waiting", &TracePlan::waiting}, Field{"seconds", &TracePlan::seconds});
};

template <>
struct Shape<TraceRows> {
  static constexpr std::string_view kName = "rows";
  static constexpr auto kFields =
      std::tuple(Field{"first", &TraceRows::first}, Field{"count", &TraceRows::count},
                 Field{"guesses", &TraceRows::guesses}, Field{"samples", &TraceRows::samples},
                 Field{"reason", &TraceRows::reason});
};

template <>
struct Shape<TraceForward> {
  static constexpr std::string_view kName = "forward";
  static constexpr auto kFields = std::tuple(Field{"rows", &TraceForward::rows},
                                             Field{"logit_rows", &TraceForward::logit_rows});
};

template <>
struct Shape<TraceComputed> {
  static constexpr std::string_view kName = "computed";
  static constexpr auto kFields = std::tuple();
};

template <>
struct Shape<TraceChunk> {
  static constexpr std::string_view kName = "chunk";
  static constexpr auto kFields =
      std::tuple(Field{"computed", &TraceChunk::computed}, Field{"length", &TraceChunk::length});
};

template <>
struct Shape<TraceGuess> {
  static constexpr std::string_view kName = "guess";
  static constexpr auto kFields =
      std::tuple(Field{"tokens", &TraceGuess::tokens}, Field{"kept", &TraceGuess::kept});
};

template <>
struct Shape<TraceToken> {
  static constexpr std::string_view kName = "token";
  static constexpr auto kFields = std::tuple(
      Field{"token", &TraceToken::token}, Field{"index", &TraceToken::index},
      Field{"guessed", &TraceToken::guessed}, Field{"p_model", &TraceToken::p_model},
      Field{"p_drawn", &TraceToken::p_drawn}, Field{"draw", &TraceToken::draw},
      Field{"candidates", &TraceToken::candidates},
      Field{"left_top_n_sigma", &TraceToken::left_top_n_sigma},
      Field{"left_top_k", &TraceToken::left_top_k},
      Field{"left_typical", &TraceToken::left_typical},
      Field{"left_top_p", &TraceToken::left_top_p}, Field{"left_min_p", &TraceToken::left_min_p});
};

template <>
struct Shape<TracePreempted> {
  static constexpr std::string_view kName = "preempted";
  static constexpr auto kFields = std::tuple(Field{"reason", &TracePreempted::reason},
                                             Field{"computed", &TracePreempted::computed},
                                             Field{"length", &TracePreempted::length});
};

template <>
struct Shape<TraceEnded> {
  static constexpr std::string_view kName = "ended";
  static constexpr auto kFields = std::tuple(Field{"reason", &TraceEnded::reason});
};

template <>
struct Shape<TraceFinished> {
  static constexpr std::string_view kName = "finished";
  static constexpr auto kFields = std::tuple(Field{"reason", &TraceFinished::reason},
                                             Field{"prompt_tokens", &TraceFinished::prompt_tokens},
                                             Field{"cached_tokens", &TraceFinished::cached_tokens});
};

template <>
struct Shape<TraceStep> {
  static constexpr std::string_view kName = "step";
  static constexpr auto kFields = std::tuple(
      Field{"step", &TraceStep::step}, Field{"rows", &TraceStep::rows},
      Field{"prompt_rows", &TraceStep::prompt_rows}, Field{"seconds", &TraceStep::seconds},
      Field{"running", &TraceStep::running}, Field{"waiting", &TraceStep::waiting},
      Field{"pages_free", &TraceStep::pages_free}, Field{"pages_held", &TraceStep::pages_held},
      Field{"pages_cached", &TraceStep::pages_cached});
};

template <>
struct Shape<TraceLost> {
  static constexpr std::string_view kName = "lost";
  static constexpr auto kFields = std::tuple(Field{"count", &TraceLost::count});
};

template <>
struct Shape<TraceRepetition> {
  static constexpr std::string_view kName = "repetition";
  static constexpr auto kFields =
      std::tuple(Field{"prompt_tokens", &TraceRepetition::prompt_tokens},
                 Field{"decode_tokens", &TraceRepetition::decode_tokens},
                 Field{"batch", &TraceRepetition::batch}, Field{"depth", &TraceRepetition::depth},
                 Field{"seconds", &TraceRepetition::seconds});
};

template <>
struct Shape<TraceOperation> {
  static constexpr std::string_view kName = "operation";
  static constexpr auto kFields = std::tuple(
      Field{"operation", &TraceOperation::operation}, Field{"seconds", &TraceOperation::seconds},
      Field{"macs", &TraceOperation::macs}, Field{"bytes", &TraceOperation::bytes});
};

/// The words of an enumeration, in the order of its values.
template <typename Enum>
struct Words;

template <>
struct Words<RowReason> {
  static constexpr std::array<std::string_view, 4> kWords = {"decode", "rank", "patience", "due"};
};
template <>
struct Words<WaitReason> {
  static constexpr std::array<std::string_view, 6> kWords = {"prefix", "tenant", "due",
                                                             "places", "pages",  "rows"};
};
template <>
struct Words<PreemptReason> {
  static constexpr std::array<std::string_view, 3> kWords = {"displaced", "reader", "pages"};
};
template <>
struct Words<PageAct> {
  static constexpr std::array<std::string_view, 4> kWords = {"shared", "taken", "copied",
                                                             "evicted"};
};
template <>
struct Words<TraceEnd> {
  static constexpr std::array<std::string_view, 6> kWords = {"stop",      "length",   "context",
                                                             "cancelled", "deadline", "error"};
};

}  // namespace skald::trace
