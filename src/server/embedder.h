/// Embedder: one request for vectors or scores (/v1/embeddings, /v1/rerank, /v1/score) on its way
/// from the engine to the client.
///
/// A request of the engine for each input, some of them at a time: a long list takes a part of the
/// engine's queue, not all. When all vectors are there they become JSON, on the work pool if they
/// may be many. A client that goes cancels what has not been computed. I/O thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/generation.h"

namespace skald::server {

/// See above.
class Embedder final : public Exchange, public std::enable_shared_from_this<Embedder> {
 public:
  /// `claim`: what the tenant has in flight for it.
  Embedder(GenerationContext context, AnswerChannel& channel, GenerationName name,
           TenantAccounts::Claim claim);
  ~Embedder() override;

  /// What is still to be done before Start; taken back when the client goes.
  void Await(QueuedWork work) { work_ = std::move(work); }
  /// Submits. Answers at once if the engine refuses.
  void Start(PreparedVectors prepared);
  /// Answers with an error, if nothing has been answered.
  std::vector<HttpField> Fields() const;
  void Fail(const ApiError& error);

  void OnGone() override;
  void OnWritable() override {}
  void OnShutdown() override;
  void OnTick() override {}
  ExchangeSummary Summary() const override;

 private:
  /// An input that the engine computes.
  struct Part {
    std::shared_ptr<TextSink> sink;
    RequestId id = {};
    size_t input = 0;
    Transcript answer;
  };

  void SubmitMore();
  Status Submit(size_t input);
  void ReadEvents();
  void ReadPart(Part& part);
  void FailWith(const FinishedEvent& end);
  void CancelParts();
  void Finish();
  void Respond(std::vector<std::string> vectors);

  GenerationContext context_;
  AnswerChannel* channel_;  // nullptr when the client has gone or the answer is complete
  GenerationName name_;
  TenantAccounts::Claim claim_;
  EngineWait wait_;
  QueuedWork work_;
  PreparedVectors prepared_;
  size_t submitted_ = 0;                     // inputs that are or were parts
  std::vector<Part> parts_;                  // in the engine
  std::vector<std::vector<float>> vectors_;  // by input
  int64_t prompt_tokens_ = 0;
  CachedTokens cached_;
  double arrived_;  // seconds of the context's clock
};

}  // namespace skald::server
