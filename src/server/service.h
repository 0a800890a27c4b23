/// Service: requests to answers. Knows the routes and what stands behind them; knows no sockets.
///
/// I/O thread only, but for the worker inside, which reads and tokenizes long bodies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/access_rules.h"
#include "server/activity.h"
#include "server/embedder.h"
#include "server/exchange.h"
#include "server/generation.h"
#include "server/router.h"
#include "server/served_model.h"
#include "server/worker.h"

namespace skald::server {

/// What a service works with. The references outlive it.
struct ServiceSetup {
  const Model& model;
  Engine& engine;
  std::string model_name;
  std::string version;  ///< of skald
  std::string fingerprint_settings = {};
  ModelNames model_names = ModelNames::kOwn;
  AccessRules rules;
  Post post;
  const Clock& clock;
  /// Random; what is drawn for ids and seeds comes from it.
  uint64_t entropy = 0;
  Pooling pooling = Pooling::kLast;  ///< of embeddings
  int64_t max_prepared = 256;        ///< requests that wait for the worker; more are refused
};

/// See above.
class Service {
 public:
  explicit Service(ServiceSetup setup);

  /// Whether to go on with a request of which only the head is there. An error is the answer, and
  /// nothing more is read.
  std::optional<ApiError> CheckHead(const HttpRequest& request) const;

  /// Answers: either at once, or the exchange that will. Requires that CheckHead let it pass.
  std::shared_ptr<Exchange> Handle(HttpRequest request, AnswerChannel& channel);

  /// From now on nothing new is taken and /readyz says so.
  void Drain() { draining_ = true; }

  /// Looks whether the engine is at work; every second while there are connections. Returns for how
  /// many seconds it has done nothing though it should.
  double LookAtEngine();

  /// Counters that the connections keep, for /metrics.
  int64_t connections = 0;
  int64_t answered = 0;

 private:
  HttpResponse Get(Route route, const HttpRequest& request) const;
  HttpResponse Models() const;
  HttpResponse OneModel(std::string_view id) const;
  HttpResponse Health(Route route) const;
  HttpResponse Metrics() const;
  HttpResponse Version() const;
  HttpResponse Props() const;
  HttpResponse Slots(TenantId tenant) const;
  bool WorkerIsFull() const { return preparing_ >= setup_.max_prepared; }
  std::shared_ptr<Exchange> AnswerOnWorker(Route route, HttpRequest request,
                                           AnswerChannel& channel);
  std::shared_ptr<Exchange> Generate(GenerationKind kind, HttpRequest request,
                                     AnswerChannel& channel);
  std::shared_ptr<Exchange> Embed(HttpRequest request, AnswerChannel& channel);
  /// Starts `target` with what `prepare` makes of the body, here or (a long one) on the worker.
  template <typename Target, typename Prepare>
  void StartWith(std::shared_ptr<Target> target, std::string body, Prepare prepare);
  GenerationContext Context();
  GenerationName NextName(std::string_view prefix, TenantId tenant);

  ServiceSetup setup_;
  ServedModel served_;
  Activity activity_;
  bool draining_ = false;
  int64_t preparing_ = 0;
  uint64_t next_number_ = 0;  // of the next generation
  int64_t created_;           // seconds since 1970 of the start, what /v1/models says
  Worker worker_;             // last: ends before what its jobs use
};

}  // namespace skald::server
