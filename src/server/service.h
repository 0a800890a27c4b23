/// Service: requests to answers. Knows the routes and what stands behind them; knows no sockets.
///
/// I/O thread only, but for the work pool inside, whose threads read bodies, render conversations
/// and make tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/access_rules.h"
#include "server/activity.h"
#include "server/console/console_feed.h"
#include "server/embedder.h"
#include "server/exchange.h"
#include "server/generation.h"
#include "server/grammar_cache.h"
#include "server/router.h"
#include "server/served_model.h"
#include "server/work_pool.h"

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
  AccessRules admin_rules;  ///< of Door::kAdmin
  IoPost post;
  const Clock& clock;
  /// Random; what is drawn for ids and for seeds comes from them.
  uint64_t id_key = 0;
  uint64_t seed_key = 0;
  Pooling pooling = Pooling::kLast;  ///< of embeddings
  WorkPoolOptions work = {};
  int64_t max_answer_bytes = int64_t{64} << 20;
  std::optional<KvCacheTypes> receipts = {};
  Later later = nullptr;  ///< none: the console is told nothing
  std::optional<Ceilings> ceilings = {};
};

/// Reads a body.
using ReadGeneration = OrError<GenerationRequest>(const boost::json::value& body);

/// What is a route's own among those that generate.
struct GenerationRoute {
  std::string_view id_prefix;  ///< what ids of its answers begin with
  ReadGeneration* read;
};

/// See above.
class Service {
 public:
  explicit Service(ServiceSetup setup);

  /// Whether to go on with a request of which only the head is there, and who asks (never null). An
  /// error is the answer, and nothing more is read.
  OrError<std::shared_ptr<const Tenant>> CheckHead(const HttpRequest& request, Door door) const;

  /// What the answer to a request of this head tells browsers, whatever it is.
  std::vector<HttpField> CorsFieldsFor(const HttpRequest& request, Door door) const;

  /// Answers `tenant`: either at once, or the exchange that will. Requires that CheckHead let it
  /// pass, and said who asks.
  std::shared_ptr<Exchange> Handle(HttpRequest request, std::shared_ptr<const Tenant> tenant,
                                   AnswerChannel& channel);

  /// From now on these keys are let in. What runs goes on.
  void SetKeys(ApiKeys keys);

  /// From now on nothing new is taken and /readyz says so.
  void Drain();

  /// Looks whether engine and work pools are at work; every second while there are connections.
  /// Returns for how many seconds the one has done nothing though it should, or the other has been
  /// at a piece of work beyond its limit.
  struct Stalled {
    double engine_seconds = 0;
    double work_seconds = 0;
  };
  Stalled Look();
  /// Ends the work pools: waits for the pieces that run. Nothing is to be handled afterwards.
  void EndWork() {
    work_.reset();
    compiling_.reset();
  }

  /// Counters that the connections keep, for /metrics.
  int64_t connections = 0;
  std::map<int, int64_t> answers;  ///< by status; as many statuses as this server knows

 private:
  /// A request that has been let in.
  struct Asked {
    HttpRequest request;
    std::shared_ptr<const Tenant> tenant;
  };
  const AccessRules& RulesOf(Door door) const;
  HttpResponse Get(Route route, const Asked& asked) const;
  HttpResponse Models() const;
  HttpResponse OneModel(std::string_view id) const;
  HttpResponse Health(Route route) const;
  HttpResponse Metrics() const;
  HttpResponse Version() const;
  HttpResponse Props() const;
  HttpResponse Slots(const Tenant& tenant) const;
  std::shared_ptr<Exchange> Watch(const Asked& asked, AnswerChannel& channel);
  using ComputeAnswer =
      std::function<OrError<std::string>(std::string_view body, const WorkLimit& limit)>;
  std::shared_ptr<Exchange> AnswerOnPool(Asked asked, ComputeAnswer compute,
                                         AnswerChannel& channel);
  std::shared_ptr<Exchange> Generate(const GenerationRoute& form, Asked asked,
                                     AnswerChannel& channel);
  std::shared_ptr<Exchange> Embed(Route route, Asked asked, AnswerChannel& channel);
  /// Starts `target` with what `prepare` makes of the body, which is work for this tenant.
  template <typename Target, typename Prepare>
  void StartWith(std::shared_ptr<Target> target, const Tenant& tenant, std::string body,
                 Prepare prepare);
  /// Goes on with what was made of the body.
  void Begin(const std::shared_ptr<Generation>& generation, PreparedGeneration prepared);
  void Begin(const std::shared_ptr<Embedder>& embedder, PreparedVectors prepared);
  GenerationContext Context();
  GenerationName NextName(std::string_view prefix, const Tenant& tenant);

  ServiceSetup setup_;
  ServedModel served_;
  Activity activity_;
  TenantAccounts accounts_;
  bool draining_ = false;
  uint64_t next_number_ = 0;  // of the next generation
  int64_t created_;           // seconds since 1970 of the start, what /v1/models says
  bool work_is_stuck_ = false;
  GrammarCache grammars_;
  ConsoleFeed console_;
  // Last: they end before what their pieces use.
  std::optional<WorkPool> compiling_;
  std::optional<WorkPool> work_;
};

}  // namespace skald::server
