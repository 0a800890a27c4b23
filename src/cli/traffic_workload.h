/// The requests of `skald bench --traffic`: when they arrive, what they begin with, how long the
/// answers are.
///
/// Four shapes of load, of random tokens, and recorded ones:
///
///   shared    every prompt begins with the same tokens: a system prompt, a document
///   random    nothing is shared, lengths vary: a public endpoint
///   intruder  one stream runs, and a long prompt arrives: does the stream stall?
///   agent     one conversation that grows by turns (agent_conversation.h)
///   FILE      arrivals, lengths and shared prefixes of a recorded trace, or conversations
///             (traffic_chat.h)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"

namespace skald::cli {

enum class TrafficKind : uint8_t { kShared, kRandom, kIntruder, kAgent, kTrace, kChats };

/// What was asked for. The names are those of vLLM's benchmark where it has them.
struct TrafficShape {
  TrafficKind kind = TrafficKind::kShared;
  std::string trace_path = {};   ///< of kTrace, and of kChats, which is what its file turns out as
  int64_t num_prompts = 32;      ///< requests; of a trace, its first ones; turns of kAgent
  int64_t prefix_len = 400;      ///< tokens that all prompts of kShared and kAgent begin with
  int64_t input_len = 48;        ///< tokens of a prompt of its own; mean of kRandom
  int64_t output_len = 48;       ///< tokens of an answer; mean of kRandom
  int64_t max_concurrency = 16;  ///< requests under way at once; more wait for one to end
  double request_rate = 0;       ///< arrivals a second, at random (Poisson); 0 = all at once
  int64_t trace_scale = 1;       ///< divides the lengths and times of a trace
};

struct TrafficRequest {
  double arrival_seconds = 0;  ///< after the start
  std::vector<TokenId> prompt = {};
  int64_t output_tokens = 0;
  uint64_t cache_namespace = 0;  ///< Request::cache_namespace
};

/// Appends `count` tokens of text number `seed`. The low ids, where vocabularies keep their control
/// tokens, are left out.
void AppendRandomText(uint64_t seed, int64_t count, int64_t vocab_size,
                      std::vector<TokenId>* tokens);

/// The requests, by arrival, of load that is made up. Not of kAgent, whose requests hang on the
/// answers, and not recorded ones. Always the same for the same shape.
std::vector<TrafficRequest> MakeTraffic(const TrafficShape& shape, int64_t vocab_size);

/// For readers of traces. The first line, without its end; `text` is what stands behind it.
std::string_view TakeLine(std::string_view* text);
/// kInvalidArgument with the line of a trace, from 1 on.
Status TraceLineError(int64_t line, const std::string& problem);
/// In the order of arrival, of equal ones that of the file, the first at 0.
void SortByArrival(std::vector<TrafficRequest>* requests);

/// The requests of a trace: lines of JSON with timestamp (ms), input_length, output_length and
/// hash_ids (a number for each block of 512 tokens; equal numbers mean equal text up to the end of
/// the block), as the Mooncake project publishes them; or, if the first line is a heading, lines
/// "YYYY-MM-DD HH:MM:SS.fraction,prompt tokens,answer tokens" of one day, as Azure does. Errors:
/// kInvalidArgument.
Result<std::vector<TrafficRequest>> ParseTrace(std::string_view text, const TrafficShape& shape,
                                               int64_t vocab_size);

}  // namespace skald::cli
