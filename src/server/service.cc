#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/json_writer.h"
#include "base/rng.h"
#include "server/answer_source.h"
#include "server/anthropic/messages_request.h"
#include "server/console/console_page.h"
#include "server/grammar_source.h"
#include "server/json_reader.h"
#include "server/llama_cpp/infill_request.h"
#include "server/metrics.h"
#include "server/ollama/model_listing.h"
#include "server/ollama/ollama_embedding_request.h"
#include "server/ollama/ollama_request.h"
#include "server/openapi.h"
#include "server/responses/response_request.h"
#include "server/tokenize.h"

namespace skald::server {

namespace {

// Whatever the size of a body, it costs at least so much: what is fixed about reading one.
constexpr int64_t kLeastCostBytes = 1024;
// Processor time beyond the limit of a piece of work after which the pool is said to be stuck.
constexpr double kStuckSeconds = 2;

constexpr const char* kPoolIsFull = "too many requests wait to be read";

int64_t CostOf(std::string_view body) {
  return kLeastCostBytes + static_cast<int64_t>(body.size());
}

HttpResponse Json(JsonWriter& json) { return {.body = json.Take()}; }

// Who asks, and when.
struct Asker {
  std::shared_ptr<const Tenant> tenant;
  Room room;
  int64_t unix_seconds;
  std::shared_ptr<const ApiKeys> keys;
  int64_t max_answer_bytes = 0;
  const WorkLimit* limit = nullptr;  // of the work for it

  Asker With(const WorkLimit& its_limit) const {
    Asker asker = *this;
    asker.limit = &its_limit;
    return asker;
  }
  PrepareContext With(std::string_view cache_salt) const {
    return {.limit = *limit,
            .tenant = tenant,
            .room = room,
            .max_answer_bytes = max_answer_bytes,
            .cache_namespace = keys->CacheNamespace(tenant->id, cache_salt),
            .unix_seconds = unix_seconds};
  }
};

Asker AskerOf(const std::shared_ptr<const Tenant>& tenant, const ServiceSetup& setup,
              const TenantAccounts::Claim& claim) {
  return {tenant, claim.room(), setup.clock.UnixSeconds(), setup.rules.keys,
          setup.max_answer_bytes};
}

OrError<PreparedGeneration> PrepareGeneration(const ServedModel& served, ReadGeneration* read,
                                              std::string_view body, const Asker& asker) {
  const OrError<boost::json::value> value = ReadJson(body);
  if (const auto* error = std::get_if<ApiError>(&value)) return *error;
  OrError<GenerationRequest> request = read(std::get<boost::json::value>(value));
  if (const auto* error = std::get_if<ApiError>(&request)) return *error;
  auto& good = std::get<GenerationRequest>(request);
  if (good.grammar) TakeRawText(body, &*good.grammar);
  TakeRawSchemas(body, &good.tools);
  const PrepareContext context = asker.With(good.cache_salt);
  return Prepare(served, std::move(good), context);
}

// Starts a generation whose grammar was compiled.
void StartWithGrammar(Generation& generation, PreparedGeneration prepared,
                      const GrammarOutcome& outcome) {
  if (const auto* error = std::get_if<ApiError>(outcome.get())) return generation.Fail(*error);
  const auto& compiled = std::get<CompiledGrammar>(*outcome);
  for (Request& request : prepared.engine_requests) request.constraint = compiled.constraint;
  prepared.left_out = compiled.left_out;
  generation.Start(std::move(prepared));
}

// A body to vectors or scores, by the reader of its route.
template <typename Request>
OrError<PreparedVectors> PrepareVectors(const ServedModel& served,
                                        OrError<Request> (*read)(const boost::json::value&),
                                        std::string_view body, const Asker& asker) {
  const OrError<boost::json::value> value = ReadJson(body);
  if (const auto* error = std::get_if<ApiError>(&value)) return *error;
  OrError<Request> request = read(std::get<boost::json::value>(value));
  if (const auto* error = std::get_if<ApiError>(&request)) return *error;
  auto& good = std::get<Request>(request);
  const PrepareContext context = asker.With(good.cache_salt);
  return Prepare(served, std::move(good), context);
}

OrError<PreparedVectors> PrepareVectors(const ServedModel& served, Route route,
                                        std::string_view body, const Asker& asker) {
  switch (route) {
    case Route::kRerank: return PrepareVectors(served, ReadRerankRequest, body, asker);
    case Route::kScore: return PrepareVectors(served, ReadScoreRequest, body, asker);
    case Route::kOllamaEmbed: return PrepareVectors(served, ReadOllamaEmbed, body, asker);
    case Route::kOllamaEmbeddings: return PrepareVectors(served, ReadOllamaEmbeddings, body, asker);
    default: return PrepareVectors(served, ReadEmbeddingRequest, body, asker);
  }
}

// What the ids of a route's answers begin with; nothing for routes whose answers are no list of
// what the engine gives for texts.
std::optional<const char*> VectorPrefixOf(Route route) {
  switch (route) {
    case Route::kEmbeddings:
    case Route::kOllamaEmbed:
    case Route::kOllamaEmbeddings: return "embd-";
    case Route::kRerank: return "rerank-";
    case Route::kScore: return "score-";
    default: return std::nullopt;
  }
}

// {"input_tokens"}: how many tokens the prompt of a message has.
OrError<std::string> CountTokens(const ServedModel& served, std::string_view body,
                                 const Asker& asker) {
  const auto prepared = PrepareGeneration(served, ReadCountTokensRequest, body, asker);
  if (const auto* error = std::get_if<ApiError>(&prepared)) return *error;
  const auto& good = std::get<PreparedGeneration>(prepared);
  JsonWriter json;
  json.BeginObject().Key("input_tokens").Uint(good.engine_requests.at(0).prompt.size()).EndObject();
  return json.Take();
}

// What a route makes of its body.
OrError<std::string> AnswerBody(const ServedModel& served, Route route, std::string_view body,
                                const Asker& asker) {
  if (route == Route::kCountTokens) return CountTokens(served, body, asker);
  const AnswerLimits limits = {.work = *asker.limit, .bytes = asker.max_answer_bytes};
  const OrError<boost::json::value> value = ReadJson(body);
  if (const auto* error = std::get_if<ApiError>(&value)) return *error;
  if (limits.work.IsOver()) return TooMuchWork();
  const auto& json = std::get<boost::json::value>(value);
  if (route == Route::kOllamaShow) return AnswerShow(served, json);
  return route == Route::kTokenize ? AnswerTokenize(served, json, limits)
                                   : AnswerDetokenize(served, json, limits);
}

// The routes that generate; nothing for others.
std::optional<GenerationRoute> GenerationOf(Route route) {
  switch (route) {
    case Route::kChatCompletions: return GenerationRoute{"chatcmpl-", ReadChatRequest};
    case Route::kCompletions: return GenerationRoute{"cmpl-", ReadCompletionRequest};
    case Route::kInfill: return GenerationRoute{"infill-", ReadInfillRequest};
    case Route::kOllamaChat: return GenerationRoute{"chat-", ReadOllamaChat};
    case Route::kOllamaGenerate: return GenerationRoute{"gen-", ReadOllamaGenerate};
    case Route::kResponses: return GenerationRoute{"resp_", ReadResponseRequest};
    case Route::kMessages: return GenerationRoute{"msg_", ReadMessagesRequest};
    default: return std::nullopt;
  }
}

// What the labels of a tenant's requests begin with; its id follows.
std::string LabelPrefix(TenantId tenant) { return fmt::format("{}/", tenant); }

// An answer that the pool computes.
class Computed final : public Exchange {
 public:
  explicit Computed(AnswerChannel& channel) : channel_(&channel) {}
  void Await(QueuedWork work) { work_ = std::move(work); }
  void Respond(OrError<std::string> answer) {
    if (channel_ == nullptr) return;
    if (const auto* error = std::get_if<ApiError>(&answer)) return Refuse(*error);
    auto& body = std::get<std::string>(answer);
    if (!channel_->Reserve(static_cast<int64_t>(body.size())))
      return Refuse(Overloaded("clients hold all the memory there is for answers"));
    std::exchange(channel_, nullptr)->Respond({.body = std::move(body)});
  }
  void Refuse(const ApiError& error) {
    if (channel_ != nullptr) std::exchange(channel_, nullptr)->Refuse(error, {});
  }
  void OnGone() override {
    channel_ = nullptr;
    work_ = {};
  }
  void OnWritable() override {}
  void OnShutdown() override { Refuse({.status = 503, .message = "the server is stopping"}); }
  void OnTick() override {}
  ExchangeSummary Summary() const override { return {}; }

 private:
  AnswerChannel* channel_;
  QueuedWork work_;
};

}  // namespace

Service::Service(ServiceSetup setup)
    : setup_(std::move(setup)),
      served_{.model = setup_.model,
              .engine = setup_.engine,
              .name = setup_.model_name,
              .longest_token_bytes = LongestTokenBytes(setup_.model.tokenizer()),
              .pooling = setup_.pooling,
              .fingerprint = SystemFingerprint(setup_.model.info(), setup_.fingerprint_settings),
              .chat = ChatFormOf(setup_.model),
              .names = setup_.model_names,
              .receipts = setup_.receipts},
      accounts_({.running = setup_.engine.max_running(), .waiting = setup_.engine.max_queued()}),
      created_(setup_.clock.UnixSeconds()),
      grammars_(setup_.model.tokenizer()),
      console_({.engine = setup_.engine,
                .served = served_,
                .clock = setup_.clock,
                .later = setup_.later,
                .version = setup_.version,
                .ceilings = setup_.ceilings},
               setup_.rules.keys) {
  accounts_.SetTenants(*setup_.rules.keys);
  work_.emplace(setup_.work);
  // Each of its turns makes a step of all others longer, so it rests between them: 0.2 ms of work
  // in 4.2 ms. That keeps up with 30 schemas a second of the worst kind, a millisecond each on
  // average (tests/soak/compile_beside_stream.py); longer rests would make all of them wait.
  compiling_.emplace(WorkPoolOptions{.short_threads = 1, .long_threads = 1, .rest_seconds = 4e-3});
}

void Service::SetKeys(ApiKeys keys) {
  setup_.rules.keys = std::make_shared<const ApiKeys>(std::move(keys));
  accounts_.SetTenants(*setup_.rules.keys);
  console_.SetKeys(setup_.rules.keys);
}

void Service::Drain() {
  draining_ = true;
  console_.EndAll();
}

GenerationContext Service::Context() {
  return {.served = served_,
          .engine = setup_.engine,
          .activity = activity_,
          .clock = setup_.clock,
          .post = setup_.post,
          .work = [this](WorkPiece piece) { return work_->Add(std::move(piece)); }};
}

GenerationName Service::NextName(std::string_view prefix, const Tenant& tenant) {
  const auto low = [](uint64_t number) { return static_cast<uint32_t>(number); };
  const uint64_t number = next_number_++;
  const auto draw = [&](uint64_t key) {
    return Philox4x32({low(number), low(number >> 32), 0, 0}, {low(key), low(key >> 32)});
  };
  const std::array<uint32_t, 4> drawn = draw(setup_.id_key);
  std::string id = fmt::format("{}{:08x}{:08x}", prefix, drawn[0], drawn[1]);
  std::string label = LabelPrefix(tenant.id) + id;
  return {.id = std::move(id),
          .label = std::move(label),
          .tenant = tenant.id,
          .share = tenant.rights.share,
          // 32 bits: a person can type it again.
          .drawn_seed = draw(setup_.seed_key)[0]};
}

const AccessRules& Service::RulesOf(Door door) const {
  return door == Door::kAdmin ? setup_.admin_rules : setup_.rules;
}

std::vector<HttpField> Service::CorsFieldsFor(const HttpRequest& request, Door door) const {
  return CorsFields(RulesOf(door), request);
}

OrError<std::shared_ptr<const Tenant>> Service::CheckHead(const HttpRequest& request,
                                                          Door door) const {
  const AccessRules& rules = RulesOf(door);
  // Browsers send no key along. It learns what every page may ask, and nothing else.
  if (IsPreflight(rules, request)) return CheckPreflight(rules, request);
  const auto access = CheckAccess(rules, request);
  if (const auto* error = std::get_if<ApiError>(&access)) return *error;
  const auto& tenant = std::get<std::shared_ptr<const Tenant>>(access);
  const OrError<Route> found = FindRoute(request.method, request.Path());
  if (const auto* error = std::get_if<ApiError>(&found)) return *error;
  const Route route = std::get<Route>(found);
  if (door == Door::kAdmin && !IsForMonitors(route)) {
    return ApiError{.status = 404,
                    .message =
                        "this address has /metrics, /slots, /health, /livez, /readyz and "
                        "/version only: it is that of --admin-listen",
                    .code = "unknown_url"};
  }
  if (IsForAdmins(route) && !tenant->rights.admin) {
    return ApiError{.status = 403,
                    .message = "this route needs a key with the right admin (docs/server.md)",
                    .code = "not_an_admin"};
  }
  if (!TakesBody(route)) return tenant;
  if (const auto error = CheckContentType(request)) return *error;
  // Before its body is read: what is refused costs little.
  if (const auto error = accounts_.CheckHead(*tenant, setup_.clock.Now())) return *error;
  return tenant;
}

std::shared_ptr<Exchange> Service::Handle(HttpRequest request, std::shared_ptr<const Tenant> tenant,
                                          AnswerChannel& channel) {
  if (request.method == "OPTIONS") {  // CheckHead lets preflights pass only
    channel.Respond(AnswerPreflight(request));
    return nullptr;
  }
  const OrError<Route> found = FindRoute(request.method, request.Path());
  const Route route = std::get<Route>(found);
  if (!TakesBody(route)) {
    Look();
    if (route == Route::kConsoleEvents)
      return Watch({std::move(request), std::move(tenant)}, channel);
    channel.Respond(Get(route, {std::move(request), std::move(tenant)}));
    return nullptr;
  }
  if (VectorPrefixOf(route)) return Embed(route, {std::move(request), std::move(tenant)}, channel);
  if (const std::optional<GenerationRoute> form = GenerationOf(route))
    return Generate(*form, {std::move(request), std::move(tenant)}, channel);
  // Counts for the rate of requests, and is over.
  const TenantAccounts::Claim claim = accounts_.Open(*tenant, setup_.clock.Now());
  const Asker asker = AskerOf(tenant, setup_, claim);
  return AnswerOnPool(
      {std::move(request), std::move(tenant)},
      [this, route, asker](std::string_view body, const WorkLimit& limit) {
        return AnswerBody(served_, route, body, asker.With(limit));
      },
      channel);
}

std::shared_ptr<Exchange> Service::AnswerOnPool(Asked asked, ComputeAnswer compute,
                                                AnswerChannel& channel) {
  auto computed = std::make_shared<Computed>(channel);
  const int64_t cost = CostOf(asked.request.body);
  // shared_ptr: a std::function must be copyable.
  const auto body = std::make_shared<const std::string>(std::move(asked.request.body));
  auto work = work_->TryAdd(
      {.tenant = asked.tenant->id,
       .cost_bytes = cost,
       .share = asked.tenant->rights.share,
       .run = [this, compute, body, weak = std::weak_ptr(computed)](const WorkLimit& limit) {
         auto answer = std::make_shared<OrError<std::string>>(compute(*body, limit));
         setup_.post([weak, answer] {
           if (const auto alive = weak.lock()) alive->Respond(std::move(*answer));
         });
       }});
  if (work)
    computed->Await(*std::move(work));
  else
    computed->Refuse(Overloaded(kPoolIsFull));
  return computed;
}

template <typename Target, typename Prepare>
void Service::StartWith(std::shared_ptr<Target> target, const Tenant& tenant, std::string body,
                        Prepare prepare) {
  using Prepared = std::invoke_result_t<Prepare, std::string_view, const WorkLimit&>;
  if (draining_) return target->OnShutdown();
  const int64_t cost = CostOf(body);
  // shared_ptr: a std::function must be copyable.
  const auto text = std::make_shared<const std::string>(std::move(body));
  // Its connection holds the target; a piece of work must not be the last to, on another thread.
  const auto run = [this, prepare, text, weak = std::weak_ptr(target)](const WorkLimit& limit) {
    auto prepared = std::make_shared<Prepared>(prepare(*text, limit));
    setup_.post([this, weak, prepared] {
      const std::shared_ptr<Target> alive = weak.lock();
      if (alive == nullptr) return;
      if (const auto* error = std::get_if<ApiError>(prepared.get()))
        alive->Fail(*error);
      else
        Begin(alive, std::get<0>(std::move(*prepared)));
    });
  };
  auto work = work_->TryAdd(
      {.tenant = tenant.id, .cost_bytes = cost, .share = tenant.rights.share, .run = run});
  if (!work) return target->Fail(Overloaded(kPoolIsFull));
  target->Await(*std::move(work));
}

void Service::Begin(const std::shared_ptr<Embedder>& embedder, PreparedVectors prepared) {
  embedder->Start(std::move(prepared));
}

// Grammars are compiled by threads of their own: some take as long as megabytes of text to read,
// and no body should wait behind one to be read.
void Service::Begin(const std::shared_ptr<Generation>& generation, PreparedGeneration prepared) {
  if (!prepared.held) return generation->Start(std::move(prepared));
  const Request& request = prepared.request.request;
  const TenantId tenant = request.tenant;
  const int32_t share = request.tenant_share;
  if (const GrammarOutcome kept = grammars_.Find(tenant, prepared.grammar_key))
    return StartWithGrammar(*generation, std::move(prepared), kept);
  // As a long piece, whose thread gives way to the engine.
  const int64_t cost = WorkQueue::kShortBytes + kLeastCostBytes + BytesOf(*prepared.held);
  const auto shared = std::make_shared<PreparedGeneration>(std::move(prepared));
  const auto run = [this, shared, tenant,
                    weak = std::weak_ptr(generation)](const WorkLimit& limit) {
    const GrammarOutcome outcome =
        grammars_.Compile(tenant, shared->grammar_key, *shared->held, limit.stop_check());
    setup_.post([shared, outcome, weak] {
      if (const auto alive = weak.lock()) StartWithGrammar(*alive, std::move(*shared), outcome);
    });
  };
  auto work =
      compiling_->TryAdd({.tenant = tenant, .cost_bytes = cost, .share = share, .run = run});
  if (!work) return generation->Fail(Overloaded(kPoolIsFull));
  generation->Await(*std::move(work));
}

std::shared_ptr<Exchange> Service::Generate(const GenerationRoute& form, Asked asked,
                                            AnswerChannel& channel) {
  TenantAccounts::Claim claim = accounts_.Open(*asked.tenant, setup_.clock.Now());
  const Asker asker = AskerOf(asked.tenant, setup_, claim);
  auto generation = std::make_shared<Generation>(
      Context(), channel, NextName(form.id_prefix, *asked.tenant), std::move(claim));
  StartWith(generation, *asked.tenant, std::move(asked.request.body),
            [this, read = form.read, asker](std::string_view body, const WorkLimit& limit) {
              return PrepareGeneration(served_, read, body, asker.With(limit));
            });
  return generation;
}

std::shared_ptr<Exchange> Service::Embed(Route route, Asked asked, AnswerChannel& channel) {
  TenantAccounts::Claim claim = accounts_.Open(*asked.tenant, setup_.clock.Now());
  const Asker asker = AskerOf(asked.tenant, setup_, claim);
  auto embedder = std::make_shared<Embedder>(
      Context(), channel, NextName(*VectorPrefixOf(route), *asked.tenant), std::move(claim));
  StartWith(embedder, *asked.tenant, std::move(asked.request.body),
            [this, route, asker](std::string_view body, const WorkLimit& limit) {
              return PrepareVectors(served_, route, body, asker.With(limit));
            });
  return embedder;
}

HttpResponse Service::Get(Route route, const Asked& asked) const {
  switch (route) {
    case Route::kModels: return Models();
    case Route::kModel: return OneModel(ModelIdOf(asked.request.Path()));
    case Route::kMetrics: return Metrics();
    case Route::kVersion:
    case Route::kOllamaVersion: return Version();
    case Route::kOllamaTags: return {.body = TagsJson(served_, created_)};
    case Route::kOllamaPs: return {.body = LoadedJson(served_, created_)};
    case Route::kProps: return Props();
    case Route::kOpenApi: return {.body = OpenApiText(setup_.version)};
    case Route::kSlots: return Slots(*asked.tenant);
    case Route::kRoot: return {.status = 307, .fields = {{"location", "/console"}}};
    case Route::kConsole:
    case Route::kConsoleStyle:
    case Route::kConsoleScript:
    case Route::kConsoleFigures:
    case Route::kConsoleChat:
    case Route::kConsoleIcon: return ConsolePage(route);
    default: return Health(route);
  }
}

std::shared_ptr<Exchange> Service::Watch(const Asked& asked, AnswerChannel& channel) {
  if (asked.request.method == "HEAD" || draining_) {
    channel.Respond({.content_type = "text/event-stream"});
    return nullptr;
  }
  OrError<std::shared_ptr<Exchange>> watcher = console_.Watch(asked.tenant, channel);
  if (const auto* error = std::get_if<ApiError>(&watcher)) {
    channel.Refuse(*error, {});
    return nullptr;
  }
  return std::get<0>(std::move(watcher));
}

Service::Stalled Service::Look() {
  activity_.Look(setup_.engine.progress(), setup_.clock.Now());
  const double overdue = std::max(work_->OverdueSeconds(), compiling_->OverdueSeconds());
  work_is_stuck_ = overdue > kStuckSeconds;
  return {.engine_seconds = activity_.stalled_seconds(), .work_seconds = overdue};
}

HttpResponse Service::Health(Route route) const {
  std::string_view state = "ok";
  if (activity_.EngineStalled()) state = "engine stalled";
  if (work_is_stuck_) state = "work stalled";
  if (draining_ && route != Route::kLive) state = "draining";
  JsonWriter json;
  json.BeginObject().Key("status").String(state).EndObject();
  HttpResponse response = Json(json);
  if (state == "ok") return response;
  response.status = 503;
  response.fields.push_back({"retry-after", "1"});
  return response;
}

namespace {

void WriteModel(std::string_view name, int64_t created, int64_t context, JsonWriter& json) {
  json.BeginObject().Key("id").String(name).Key("object").String("model");
  json.Key("created").Int(created).Key("owned_by").String("skald");
  json.Key("root").String(name).Key("parent").Null();
  json.Key("max_model_len").Int(context).EndObject();
}

}  // namespace

HttpResponse Service::Models() const {
  JsonWriter json;
  json.BeginObject().Key("object").String("list").Key("data").BeginArray();
  WriteModel(served_.name, created_, setup_.engine.context(), json);
  json.EndArray().EndObject();
  return Json(json);
}

HttpResponse Service::OneModel(std::string_view id) const {
  if (!served_.IsCalled(id)) return ToResponse(NoSuchModel(served_, id));
  JsonWriter json;
  WriteModel(served_.name, created_, setup_.engine.context(), json);
  return Json(json);
}

HttpResponse Service::Metrics() const {
  HttpResponse response = {.content_type = "text/plain; version=0.0.4; charset=utf-8"};
  response.body = MetricsText({.stats = setup_.engine.Stats(),
                               .model_name = served_.name,
                               .connections = connections,
                               .answers = answers});
  return response;
}

HttpResponse Service::Version() const {
  JsonWriter json;
  json.BeginObject().Key("version").String(setup_.version);
  json.Key("numerics").Int(kNumericsVersion).EndObject();
  return Json(json);
}

HttpResponse Service::Props() const {
  const ModelInfo& info = setup_.model.info();
  JsonWriter json;
  json.BeginObject().Key("model_alias").String(served_.name);
  json.Key("model").BeginObject().Key("name").String(info.name);
  json.Key("architecture").String(info.architecture).Key("type").String(info.weights_type);
  json.Key("parameters").Int(info.parameter_count);
  json.Key("context_length").Int(info.context_length).Key("vocabulary").Int(info.vocab_size);
  json.EndObject();
  json.Key("n_ctx").Int(setup_.engine.context());
  json.Key("n_embd").Int(setup_.engine.embedding_width());
  json.Key("pooling").String(PoolingName(setup_.pooling));
  json.Key("isa").String(setup_.engine.isa_name()).Key("threads").Int(setup_.engine.threads());
  json.Key("kv_bytes").Int(setup_.engine.kv_bytes());
  json.Key("state_bytes").Int(setup_.engine.state_bytes());
  json.Key("chat_template").String(info.chat_template);
  json.Key("system_fingerprint").String(served_.fingerprint);
  json.Key("version").String(setup_.version).Key("numerics").Int(kNumericsVersion);
  json.EndObject();
  return Json(json);
}

namespace {

void WriteRequest(const RequestProgress& request, size_t prefix, JsonWriter& json) {
  json.BeginObject().Key("id").String(std::string_view(request.label).substr(prefix));
  json.Key("state").String(RequestPhaseName(request.phase));
  json.Key("sequences").Int(request.sequences);
  json.Key("prompt_tokens").Int(request.prompt_tokens);
  json.Key("cached_tokens").Int(request.cached_tokens);
  json.Key("computed_tokens").Int(request.computed_tokens);
  json.Key("output_tokens").Int(request.output_tokens);
  json.Key("pages").Int(request.pages).EndObject();
}

}  // namespace

// What others ask is nobody's business, but an admin's: who is none sees its own requests, and of
// the engine what these have.
HttpResponse Service::Slots(const Tenant& tenant) const {
  const EngineStats stats = setup_.engine.Stats();
  std::vector<RequestProgress> requests = setup_.engine.Requests();
  const std::string own = LabelPrefix(tenant.id);
  JsonWriter json;
  json.BeginObject();
  if (tenant.rights.admin) {
    json.Key("running").Int(stats.running).Key("waiting").Int(stats.waiting);
    json.Key("pages").BeginObject().Key("total").Int(stats.pages_total);
    json.Key("free").Int(stats.pages_free).Key("held").Int(stats.pages_held);
    json.Key("cached").Int(stats.pages_cached).EndObject();
    json.Key("window_pages").BeginObject().Key("total").Int(stats.window_pages_total);
    json.Key("free").Int(stats.window_pages_free).Key("held").Int(stats.window_pages_held);
    json.Key("cached").Int(stats.window_pages_cached).EndObject();
    json.Key("states").BeginObject().Key("total").Int(stats.states_total);
    json.Key("free").Int(stats.states_free).Key("held").Int(stats.states_held);
    json.Key("cached").Int(stats.states_cached).EndObject();
    json.Key("steps").Int(stats.steps);
  } else {
    std::erase_if(requests,
                  [&](const RequestProgress& request) { return !request.label.starts_with(own); });
  }
  json.Key("requests").BeginArray();
  for (const RequestProgress& request : requests)
    WriteRequest(request, request.label.find('/') + 1, json);
  json.EndArray().EndObject();
  return Json(json);
}

}  // namespace skald::server
