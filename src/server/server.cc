#include "skald/server.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/host_port.h"
#include "base/status_macros.h"
#include "server/connection.h"
#include "server/read_turns.h"
#include "server/service.h"
#include "server/subkey.h"
#include "server/watchdog.h"

namespace skald {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using server::AccessRules;
using server::ApiKeys;
using server::Connection;
using server::Service;

namespace {

// What waits in the system's queue before it is accepted.
constexpr int kListenBacklog = 511;
// How often deadlines are looked at while there are connections.
constexpr std::chrono::seconds kTick{1};
// After the system refused a connection (no descriptors left): a pause, not a busy loop.
constexpr std::chrono::milliseconds kAcceptPause{100};
// Of the connections allowed so many are closed at a time when a place is needed: looking for one
// costs a look at all.
constexpr int64_t kShareClosed = 64;
// Connections of monitors that may be open.
constexpr int64_t kMostMonitors = 16;
// For clients to take the error that ends their answer.
constexpr std::chrono::milliseconds kLastWords{500};
constexpr size_t kReadBuffer = size_t{64} << 10;

// What tenants and namespaces are derived from.
const std::string& KeySecret(const ServerOptions& options) {
  return options.cache_secret.empty() ? options.secret : options.cache_secret;
}

Result<AccessRules> MakeRules(const ServerOptions& options, const asio::ip::address& address) {
  ApiKeys keys(KeySecret(options));
  if (!options.api_keys.empty()) {
    ASSIGN_OR_RETURN(keys, ApiKeys::Parse(options.api_keys, KeySecret(options)));
  }
  AccessRules rules = {.keys = std::make_shared<const ApiKeys>(std::move(keys)),
                       .hosts = options.allowed_hosts,
                       .origins = options.allowed_origins};
  for (const std::string& origin : rules.origins) RETURN_IF_ERROR(server::CheckOrigin(origin));
  if (!address.is_loopback() && rules.keys->empty()) {
    return Status(ErrorCode::kInvalidArgument,
                  options.host +
                      " can be reached from other machines: serving there needs keys "
                      "(--api-key-file)");
  }
  if (address.is_loopback()) {
    const std::vector<std::string> own = server::LoopbackHosts();
    rules.hosts.insert(rules.hosts.end(), own.begin(), own.end());
  }
  return rules;
}

// Of the door for administrators: as a loopback address without keys.
AccessRules MakeAdminRules(const ServerOptions& options) {
  AccessRules rules = {.keys = std::make_shared<const ApiKeys>(KeySecret(options)),
                       .hosts = options.allowed_hosts};
  const std::vector<std::string> own = server::LoopbackHosts();
  rules.hosts.insert(rules.hosts.end(), own.begin(), own.end());
  return rules;
}

// "127.0.0.1:9090" or "[::1]:9090"; nothing for "".
Result<std::optional<tcp::endpoint>> AdminEndpoint(const std::string& text) {
  if (text.empty()) return std::optional<tcp::endpoint>();
  const Status wrong(ErrorCode::kInvalidArgument,
                     "the address for monitors is '" + text +
                         "', expected one of this machine with a port, such as 127.0.0.1:9090 or "
                         "[::1]:9090");
  const std::optional<HostPort> place = ParseHostPort(text);
  if (!place) return wrong;
  error_code error;
  const asio::ip::address address = asio::ip::make_address(place->host, error);
  if (error || !address.is_loopback() || address.is_v6() != place->has_brackets) return wrong;
  return std::optional(tcp::endpoint(address, place->port));
}

// Where connections come in: what listens, and how many may be open that came by it. Each has its
// own crowd: that of one keeps nobody out of the other.
struct Entrance {
  Entrance(asio::io_context& io, server::Door its_door, int64_t its_most)
      : acceptor(io), door(its_door), most(its_most) {}

  Status Listen(const tcp::endpoint& endpoint);
  int64_t over_limit() const { return open - most; }
  uint16_t port() const {
    error_code error;
    const tcp::endpoint endpoint = acceptor.local_endpoint(error);
    return error ? uint16_t{0} : endpoint.port();
  }

  tcp::acceptor acceptor;  // not open: nobody comes in here
  const server::Door door;
  const int64_t most;
  int64_t open = 0;
  bool accepting = false;
};

Status Entrance::Listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kListenBacklog, error);
  if (!error) return Ok();
  return Status(ErrorCode::kIo, "cannot listen on " + endpoint.address().to_string() + ":" +
                                    std::to_string(endpoint.port()) + ": " + error.message());
}

}  // namespace

// Destroyed from the bottom up: connections and service end before the engine, the engine before
// the I/O context that its events are posted to.
struct Server::State {
  State(const Model& served_model, Engine its_engine, ServerOptions its_options, AccessRules rules)
      : options(std::move(its_options)),
        model(served_model),
        clock{options.unix_seconds},
        budget(options.max_buffered_bytes),
        main(io, server::Door::kPublic, options.max_connections),
        admin(io, server::Door::kAdmin, kMostMonitors),
        signals(io),
        hangups(io),
        ticker(io),
        accept_pause(io),
        drain_deadline(io),
        beat(io),
        read_buffer(kReadBuffer),
        turns([this](server::ReadTurns::Work work) { asio::post(io, std::move(work)); }),
        engine(std::move(its_engine)),
        service(
            {.model = model,
             .engine = engine,
             .model_name = options.model_name,
             .version = options.version,
             .fingerprint_settings = options.fingerprint_settings,
             .model_names = options.model_names,
             .rules = std::move(rules),
             .admin_rules = MakeAdminRules(options),
             .post = [this](std::function<void()> work) { Post(std::move(work)); },
             .clock = clock,
             .id_key = server::Subkey(options.secret, "ids"),
             .seed_key = server::Subkey(options.secret, "seeds"),
             .pooling = options.pooling,
             .max_answer_bytes = std::min(options.max_answer_bytes, options.max_buffered_bytes / 4),
             .receipts = options.receipts,
             .later = [this](double seconds,
                             std::function<void()> work) { Later(seconds, std::move(work)); },
             .ceilings = options.ceilings}),
        watchdog(options.dead_seconds,
                 [this] { Dead("the thread of the connections stands still"); }) {}

  void Post(std::function<void()> work);
  void RunHandlers();
  void Accept(Entrance& entrance);
  void OnAccepted(Entrance& entrance, const error_code& error, tcp::socket socket);
  bool MakeRoomFor(const Entrance& entrance, std::optional<uint64_t> newest);
  bool EndSlowest(const std::string& payer, uint64_t except);
  void PauseAccepting();
  void WaitForSignal();
  void WaitForHangup();
  void ReadKeysAgain();
  Status CatchSignals();
  void Tick();
  void Dead(const std::string& what);
  void StartTicking();
  void Later(double seconds, std::function<void()> work);
  void OnClosed(uint64_t number);
  void Drain();
  void StopBecause(const Status& why);
  void CutOffIn(std::chrono::milliseconds time);
  void FinishIfDrained();
  void CutOff();
  void Finish();

  ServerOptions options;
  Model model;
  server::Clock clock;
  // Connections may live on in events of io, with what they hold of these.
  server::ByteBudget budget;
  server::RefusalDelays refusals;
  asio::io_context io{1};
  Entrance main;
  Entrance admin;
  asio::signal_set signals;
  asio::signal_set hangups;
  asio::steady_timer ticker;
  asio::steady_timer accept_pause;
  asio::steady_timer drain_deadline;
  asio::steady_timer beat;  // of the console
  std::vector<char> read_buffer;
  // Behind the I/O context: connections that wait in it have sockets there.
  server::ReadTurns turns;
  Engine engine;
  Service service;
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections;
  uint64_t next_number = 0;
  bool ticking = false;
  bool draining = false;
  Status end;  // what Run returns
  bool accepting = false;
  server::Watchdog watchdog;
};

void Server::State::Accept(Entrance& entrance) {
  // One over the limit only if it found none to close (MakeRoomFor).
  if (!entrance.acceptor.is_open() || entrance.accepting || entrance.over_limit() > 0) return;
  entrance.accepting = true;
  entrance.acceptor.async_accept([this, &entrance](const error_code& error, tcp::socket socket) {
    entrance.accepting = false;
    OnAccepted(entrance, error, std::move(socket));
  });
}

void Server::State::OnAccepted(Entrance& entrance, const error_code& error, tcp::socket socket) {
  if (error == asio::error::operation_aborted) return;
  // No descriptors are left, most likely: somebody who has waited gives up his.
  if (error && MakeRoomFor(main, std::nullopt)) return;
  if (error) return PauseAccepting();
  const uint64_t number = next_number++;
  auto connection = std::make_shared<Connection>(
      std::move(socket), number,
      server::ConnectionContext{
          .service = service,
          .door = entrance.door,
          .options = options,
          .clock = clock,
          .read_buffer = read_buffer,
          .budget = budget,
          .turns = turns,
          .refusals = refusals,
          .make_room = [this](const std::string& payer,
                              uint64_t asking) { return EndSlowest(payer, asking); },
          .on_closed = [this](uint64_t closed) { OnClosed(closed); }});
  if (draining) connection->Drain();
  connections.emplace(number, connection);
  ++entrance.open;
  service.connections = static_cast<int64_t>(connections.size());
  connection->Start();
  StartTicking();
  if (entrance.over_limit() > 0) {
    MakeRoomFor(entrance, number);
    return;
  }
  Accept(entrance);
}

// Closes connections of an entrance, in this order: whose last answer is out, who has not sent a
// byte, who has sent a part of a request; of these first the address that has most of them, and of
// an address who has waited longest. Who holds connections open and says nothing must not keep out
// who has something to say, and a crowd of one address not who is slow at another. False if all are
// being answered: the next to close makes room.
bool Server::State::MakeRoomFor(const Entrance& entrance, std::optional<uint64_t> newest) {
  struct Candidate {
    int uselessness;
    int64_t of_address;
    double since;
    std::shared_ptr<Connection> connection;
  };
  std::unordered_map<std::string, int64_t> of_address;
  for (const auto& [number, connection] : connections) ++of_address[connection->network()];
  std::vector<Candidate> candidates;
  for (const auto& [number, connection] : connections) {
    const std::optional<int> uselessness = connection->uselessness();
    if (!uselessness || number == newest || connection->door() != entrance.door) continue;
    candidates.push_back({.uselessness = *uselessness,
                          .of_address = of_address[connection->network()],
                          .since = connection->phase_since(),
                          .connection = connection});
  }
  const auto count = std::min(static_cast<int64_t>(candidates.size()),
                              std::max<int64_t>(1, entrance.most / kShareClosed));
  std::partial_sort(candidates.begin(), candidates.begin() + count, candidates.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return std::tuple(a.uselessness, -a.of_address, a.since) <
                             std::tuple(b.uselessness, -b.of_address, b.since);
                    });
  for (int64_t i = 0; i < count; ++i) candidates[static_cast<size_t>(i)].connection->Close();
  return count > 0;
}

// Ends the slowest of a payer's bodies and unread answers. False if none has taken some seconds.
bool Server::State::EndSlowest(const std::string& payer, uint64_t except) {
  std::shared_ptr<Connection> slowest;
  double least = 0;
  for (const auto& [number, connection] : connections) {
    const std::optional<double> rate = connection->SlowRate();
    if (!rate || number == except || connection->payer() != payer) continue;
    if (slowest && *rate >= least) continue;
    slowest = connection;
    least = *rate;
  }
  if (slowest) slowest->EndAsSlow();
  return slowest != nullptr;
}

void Server::State::PauseAccepting() {
  accept_pause.expires_after(kAcceptPause);
  accept_pause.async_wait([this](const error_code& error) {
    if (error) return;
    Accept(main);
    Accept(admin);
  });
}

void Server::State::OnClosed(uint64_t number) {
  // Later: a connection may be closing itself deep inside a call of its own.
  asio::post(io, [this, number] {
    const auto closed = connections.find(number);
    --(closed->second->door() == main.door ? main : admin).open;
    connections.erase(closed);
    service.connections = static_cast<int64_t>(connections.size());
    FinishIfDrained();
    Accept(main);
    Accept(admin);
  });
}

// From other threads. Said before the work is there: who is woken by it is waited for already.
void Server::State::Post(std::function<void()> work) {
  engine.ReaderWaits();
  asio::post(io, std::move(work));
}

// As io.run(), and says when there is nothing left. What is posted at that moment is found by the
// next round before it sleeps.
void Server::State::RunHandlers() {
  while (io.run_one() > 0) {
    io.poll();
    engine.ReaderIsServed();
  }
}

void Server::State::StartTicking() {
  if (ticking) return;
  ticking = true;
  ticker.expires_after(kTick);
  ticker.async_wait([this](const error_code& error) {
    ticking = false;
    if (!error) Tick();
  });
}

// One piece of work at a time: that of the console.
void Server::State::Later(double seconds, std::function<void()> work) {
  beat.expires_after(std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  beat.async_wait([work = std::move(work)](const error_code& error) {
    if (!error) work();
  });
}

void Server::State::Dead(const std::string& what) {
  if (options.on_dead) options.on_dead(what);
}

void Server::State::Tick() {
  watchdog.Beat();
  // A tick may close connections; these leave the map later (OnClosed).
  for (const auto& [number, connection] : connections) connection->OnTick();
  if (!connections.empty())
    StartTicking();
  else
    watchdog.Rest();
  const Service::Stalled stalled = service.Look();
  if (stalled.engine_seconds > options.dead_seconds)
    Dead("the engine computes no more though requests wait for it");
  if (stalled.work_seconds > options.dead_seconds)
    Dead("a piece of work does not end though its time is up");
  FinishIfDrained();
}

void Server::State::FinishIfDrained() {
  const bool busy = std::any_of(connections.begin(), connections.end(),
                                [](const auto& entry) { return entry.second->busy(); });
  if (draining && !busy) Finish();
}

void Server::State::WaitForSignal() {
  signals.async_wait([this](const error_code& error, int) {
    if (error) return;
    // Back to the system's own action, also for the other signal.
    error_code ignored;
    signals.clear(ignored);
    Drain();
  });
}

// The first of a kind goes to the I/O thread and gives the second back to the system: it ends the
// process whatever the I/O thread is at.
Status Server::State::CatchSignals() {
  for (const int number : {SIGTERM, SIGINT}) {
    error_code error;
    signals.add(number, error);
    if (error) return Status(ErrorCode::kIo, "cannot wait for signals: " + error.message());
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
  // Without a file to be read again, a closed terminal ends a server as it ends any program.
  if (!options.read_api_keys) return Ok();
  error_code error;
  hangups.add(SIGHUP, error);
  if (error) return Status(ErrorCode::kIo, "cannot wait for SIGHUP: " + error.message());
  return Ok();
}

void Server::State::WaitForHangup() {
  hangups.async_wait([this](const error_code& error, int) {
    if (error) return;
    ReadKeysAgain();
    WaitForHangup();
  });
}

void Server::State::ReadKeysAgain() {
  const auto notice = [this](const std::string& text) {
    if (options.on_notice) options.on_notice(text);
  };
  const Result<std::string> text = options.read_api_keys();
  if (!text.ok()) return notice("the keys stay as they are: " + text.status().message());
  Result<ApiKeys> keys = ApiKeys::Parse(*text, KeySecret(options));
  if (!keys.ok())
    return notice("the keys stay as they are: the key file: " + keys.status().message());
  const size_t count = keys->size();
  service.SetKeys(*std::move(keys));
  notice("the key file was read again: " + std::to_string(count) + " keys");
}

void Server::State::Drain() {
  if (draining) return;
  draining = true;
  // Connections are taken as before: /readyz is to say that the server is going, not vanish.
  service.Drain();
  for (const auto& [number, connection] : connections) connection->Drain();
  FinishIfDrained();
  CutOffIn(std::chrono::milliseconds(static_cast<int64_t>(options.drain_seconds * 1000)));
}

// The engine ends what it has by itself: the time is for clients to hear of it.
void Server::State::StopBecause(const Status& why) {
  if (end.ok()) end = why;
  Drain();
  CutOffIn(kLastWords);
}

void Server::State::CutOffIn(std::chrono::milliseconds time) {
  drain_deadline.expires_after(time);
  drain_deadline.async_wait([this](const error_code& error) {
    if (!error) CutOff();
  });
}

void Server::State::CutOff() {
  for (const auto& [number, connection] : connections) connection->CutOff();
  drain_deadline.expires_after(kLastWords);
  drain_deadline.async_wait([this](const error_code& error) {
    if (error) return;
    for (const auto& [number, connection] : connections) connection->Close();
    Finish();
  });
}

void Server::State::Finish() {
  error_code ignored;
  signals.cancel(ignored);
  hangups.cancel(ignored);
  ticker.cancel();
  main.acceptor.close(ignored);
  admin.acceptor.close(ignored);
  drain_deadline.cancel();
  accept_pause.cancel();
  io.stop();
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

Result<Server> Server::Create(const Model& model, Engine engine, ServerOptions options) {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options.host, error);
  if (error) {
    return Status(ErrorCode::kInvalidArgument,
                  "'" + options.host + "' is not a numeric address such as 127.0.0.1 or ::1");
  }
  if (options.secret.size() < 16 || !options.unix_seconds)
    return Status(ErrorCode::kInvalidArgument, "a server needs a secret and a clock");
  ASSIGN_OR_RETURN(AccessRules rules, MakeRules(options, address));
  ASSIGN_OR_RETURN(const std::optional<tcp::endpoint> admin, AdminEndpoint(options.admin_listen));
  // Now: later no thread of the server has the time, and no client should make it read so much.
  if (options.receipts) RETURN_IF_ERROR(model.Sha256().status());
  auto state =
      std::make_unique<State>(model, std::move(engine), std::move(options), std::move(rules));
  RETURN_IF_ERROR(state->main.Listen({address, state->options.port}));
  if (admin) RETURN_IF_ERROR(state->admin.Listen(*admin));
  // Before anybody can know the port: who starts a server and ends it at once is heard in Run.
  RETURN_IF_ERROR(state->CatchSignals());
  return Server(std::move(state));
}

uint16_t Server::port() const { return state_->main.port(); }
uint16_t Server::admin_port() const { return state_->admin.port(); }

Status Server::Run() {
  if (state_->options.read_api_keys) state_->WaitForHangup();
  state_->WaitForSignal();
  state_->Accept(state_->main);
  state_->Accept(state_->admin);
  state_->RunHandlers();
  // What is still at work is told to stop; the watchdog ends the wait for what does not.
  state_->watchdog.Beat();
  state_->service.EndWork();
  state_->watchdog.Rest();
  return state_->end;
}

void Server::StopBecause(Status why) {
  asio::post(state_->io, [state = state_.get(), why = std::move(why)] { state->StopBecause(why); });
}

void Server::Stop() {
  asio::post(state_->io, [state = state_.get()] { state->Drain(); });
}

}  // namespace skald
