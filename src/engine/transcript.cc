#include "skald/transcript.h"

namespace skald {

Transcript::Transcript(const Request& request, TranscriptKeeps what)
    : keeps(what),
      sequences(static_cast<size_t>(request.sequence_count())),
      prompt_tokens(static_cast<int64_t>(request.prompt.size())) {}

void Transcript::AddToken(const TokenEvent& token, double seconds, TranscriptSequence& sequence) {
  ++output_tokens;
  if (!first_token_seconds) first_token_seconds = seconds;
  last_token_seconds = seconds;
  if (keeps.tokens) sequence.tokens.push_back(token.token);
  if (keeps.seconds) sequence.seconds.push_back(seconds);
  if (keeps.draws) sequence.draws.push_back(token.draw);
  if (!keeps.logprobs || !token.logprob) return;
  sequence.logprobs.push_back(*token.logprob);
  sequence.top.push_back(token.top);
}

CachedTokens& CachedTokens::operator+=(const CachedTokens& other) {
  memory += other.memory;
  snapshot += other.snapshot;
  disk += other.disk;
  return *this;
}

void Transcript::Add(const Event& event) {
  TranscriptSequence& sequence = sequences[static_cast<size_t>(event.sequence)];
  latest_seconds = event.seconds;
  if (const auto* token = event.As<TokenEvent>()) {
    AddToken(*token, event.seconds, sequence);
  } else if (event.Is<QueuedEvent>()) {
    submitted_seconds = event.seconds;
  } else if (const auto* admitted = event.As<AdmittedEvent>(); admitted && !admitted_seconds) {
    admitted_seconds = event.seconds;
    cached_tokens = admitted->done;
    cached_from = admitted->from;
  } else if (const auto* prompt = event.As<PromptLogprobsEvent>()) {
    if (keeps.logprobs) prompt_logprobs = prompt->logprobs;
  } else if (const auto* vector = event.As<EmbeddingEvent>()) {
    embedding = vector->values;
  } else if (const auto* ended = event.As<SequenceFinishedEvent>()) {
    sequence.reason = ended->reason;
    sequence.score = ended->score;
  } else if (const auto* last = event.As<FinishedEvent>()) {
    end = *last;
  }
}

void Transcript::Add(const TextEvent& event) {
  Add(event.event);
  TranscriptSequence& sequence = sequences[static_cast<size_t>(event.event.sequence)];
  if (keeps.text) sequence.text += event.text;
  if (event.stop_index >= 0) sequence.stop_index = event.stop_index;
}

const TranscriptSequence& Transcript::best() const {
  const bool chosen = end && !end->answer.empty();
  return sequences[chosen ? static_cast<size_t>(end->answer.front()) : 0];
}

double Transcript::prefill_seconds() const {
  return first_token_seconds.value_or(latest_seconds) - submitted_seconds;
}

double Transcript::decode_seconds() const {
  return latest_seconds - first_token_seconds.value_or(latest_seconds);
}

}  // namespace skald
