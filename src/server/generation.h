/// Generation: one completion or chat completion on its way from the engine to the client.
///
/// It submits a request for each prompt, reads the text events when the engine thread says that
/// there are some, and writes them to the channel: as they come (a stream), or all at the end. A
/// client that reads slowly pauses it: it takes no more events, and the engine computes no further
/// tokens for it (EventSink::HasRoom). A client that goes cancels it. I/O thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/activity.h"
#include "server/answer_writer.h"
#include "server/clock.h"
#include "server/exchange.h"
#include "server/served_model.h"
#include "server/work_pool.h"
#include "skald/chat_answer.h"
#include "skald/text_sink.h"
#include "skald/transcript.h"

namespace skald::server {

/// Runs a function on the I/O thread, soon. May be called by any thread.
using IoPost = std::function<void(std::function<void()>)>;

/// What all exchanges that use the engine share. References outlive every one.
struct GenerationContext {
  const ServedModel& served;
  Engine& engine;
  Activity& activity;
  const Clock& clock;
  IoPost post;
  /// Queues work for a tenant on the pool.
  std::function<QueuedWork(WorkPiece piece)> work;
};

/// What is a generation's own from the start.
struct GenerationName {
  std::string id;     ///< of the answer, and x-request-id
  std::string label;  ///< of its requests in the engine
  TenantId tenant = kEveryone;
  int32_t share = 1;        ///< of the tenant
  uint64_t drawn_seed = 0;  ///< for a request that gives none
};

/// The seed of prompt number `index` of a request: its own for the first, derived from both for the
/// others. Equal prompts of one request then draw different numbers.
uint64_t SeedOfPrompt(uint64_t seed, size_t index);

/// See above.
class Generation final : public Exchange, public std::enable_shared_from_this<Generation> {
 public:
  /// `claim`: what the tenant has in flight for it.
  Generation(GenerationContext context, AnswerChannel& channel, GenerationName name,
             TenantAccounts::Claim claim);
  ~Generation() override;

  /// What is still to be done before Start; taken back when the client goes.
  void Await(QueuedWork work) { work_ = std::move(work); }
  /// Submits. Answers at once if the engine refuses.
  void Start(PreparedGeneration prepared);
  /// Answers with an error, if nothing has been answered.
  void Fail(const ApiError& error);

  void OnGone() override;
  void OnWritable() override;
  void OnShutdown() override;
  void OnTick() override;
  ExchangeSummary Summary() const override;

 private:
  /// One prompt: a request of the engine, with its choices.
  struct Part {
    std::shared_ptr<TextSink> sink;
    RequestId id = {};
    int64_t first_choice = 0;  // index of its first sequence in choices_
    Load load = {};            // given back at its end
    Transcript transcript;     // keeps no texts: they are in the choices, until they are sent
    std::shared_ptr<ScoredPrompt> scored_prompt = {};  // if its log probabilities are wanted
    std::shared_ptr<const Request> asked = {};         // of an answer that gets a receipt
    bool finished = false;
  };
  /// One sequence.
  struct Sequence {
    Choice choice;  // of a stream: what was not sent yet
    // Of a chat whose model has a form of calls or reasoning.
    std::optional<ChatAnswerReader> reader = {};
    ChatPiece::Kind tells = ChatPiece::Kind::kText;  // the last piece
    bool started = false;                            // of a stream: a chunk of it was sent
    bool ended = false;                              // of a stream: its last chunk was sent
    int64_t characters = 0;                          // of the tokens' texts, for text_offset
  };

  bool TakeLoad(const std::vector<Request>& requests);
  bool Submit(size_t index, Request request, int64_t echoed_characters);
  void ReadEvents();
  void ReadPart(Part& part);
  void Take(Part& part, const TextEvent& next);
  std::shared_ptr<ScoredPrompt> PromptToScore(const Request& request, int64_t characters) const;
  void TakePrompt(Part& part, const PromptLogprobsEvent& prompt);
  void TakeToken(Sequence& sequence, const TokenEvent& token);
  void TakeEnd(Sequence& sequence, FinishReason reason, int32_t stop_index);
  void TakeText(Sequence& sequence, const std::string& text);
  void BeginReading(const PreparedGeneration& prepared, uint64_t seed);
  bool reads_answers() const;
  ScoredToken Scored(const TokenEvent& token) const;
  void MakeReceiptOnPool();
  void TakeReceipt(Result<std::string> json);
  void SendPieces(const Part& part);
  void SendSequence(int64_t index, Sequence& sequence);
  void SendChunk(int64_t index, Sequence& sequence, const Choice& choice);
  void End();
  void Finish();
  bool ReserveHeld();
  void RespondFromPool(const Usage& usage);
  std::vector<Choice> TakeChoices();
  void FailWith(const FinishedEvent& end);
  bool admitted() const;
  Usage UsageNow() const;
  void CancelParts();
  void WriteOut(std::string_view bytes);

  GenerationContext context_;
  AnswerChannel* channel_;  // nullptr when the client has gone or the answer is complete
  bool on_pool_ = false;    // all events are read, and the pool writes the answer or its receipt
  GenerationName name_;
  TenantAccounts::Claim claim_;
  EngineWait wait_;
  QueuedWork work_;
  GenerationRequest request_;
  std::string warnings_;           // kSystemMessageDropped and the like, with commas
  std::vector<HttpField> fields_;  // of the answer
  std::shared_ptr<AnswerWriter> answer_;
  int64_t prepared_bytes_ = 0;  // prompts, as tokens and as text
  int64_t held_bytes_ = 0;      // what has come of the answer and is not sent
  std::vector<Part> parts_;
  std::vector<Sequence> sequences_;
  int64_t prompt_tokens_ = 0;
  int64_t reasoning_tokens_ = 0;
  bool streaming_ = false;
  bool stream_begun_ = false;  // AnswerWriter::Begin was sent
  double last_write_ = 0;
  double arrived_;  // seconds of the context's clock
};

}  // namespace skald::server
