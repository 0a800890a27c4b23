/// Server: an engine behind HTTP, with the API of OpenAI.
///
///     Result<Server> server = Server::Create(
///         model, std::move(engine), {.port = 0, .secret = secret, .unix_seconds = clock});
///     if (!server.ok()) std::cerr << server.status().message() << '\n';
///     Status status = server->Run();  // until SIGTERM or SIGINT, or Stop()
///
/// One thread does all input and output and never computes; requests become tokens on a small pool
/// of threads, fair by key, and the engine has its own. Secure by default: it listens on this
/// machine only, refuses any other address without keys, checks Host and Origin, bounds everything
/// a client can send, and writes down no prompt (docs/server.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/bench.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// One answered request, for a log. Nothing of prompt or answer.
struct AccessRecord {
  std::string client;  ///< address
  std::string tenant;  ///< the name of its key; empty: none
  std::string method;
  std::string path;   ///< without query
  int status = 0;     ///< 499: the client went away first
  std::string id;     ///< x-request-id; empty if there is none
  int64_t bytes = 0;  ///< of the answer
  double seconds = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
  std::string warnings = {};  ///< names of what the client was warned of, with commas
};

/// Which names of models are the served one's.
enum class ModelNames : uint8_t {
  kOwn,  ///< its own; 404 for others
  kAny,  ///< all: for clients that ask for a name of their own choice
};

/// How to serve.
struct ServerOptions {
  std::string host = "127.0.0.1";  ///< a numeric address
  uint16_t port = 8080;            ///< 0: any that is free
  /// "127.0.0.1:9090", "[::1]:9090" (port 0: any that is free): a further address, of this machine
  /// only, where monitors read metrics, slots and health without a key. Empty: none.
  std::string admin_listen = {};
  std::string model_name = {};  ///< what clients call the model
  ModelNames model_names = ModelNames::kOwn;
  std::string version = {};  ///< of the program, for /version
  /// The engine's options that the bits of an answer depend on: "f16" (the type of the KV cache).
  /// A part of system_fingerprint.
  std::string fingerprint_settings = {};
  /// Content of a key file: one a line. Empty: no keys, and then only loopback addresses.
  std::string api_keys = {};
  /// Reads the key file again, on SIGHUP: called on the I/O thread. Running requests and the caches
  /// of keys that stay are not touched; a file that is wrong changes nothing. Empty: SIGHUP does
  /// what it does by default.
  std::function<Result<std::string>()> read_api_keys = nullptr;
  /// Names that Host may give beside those of this machine. With an address that is not loopback,
  /// none at all means any.
  std::vector<std::string> allowed_hosts = {};
  /// Origins of web pages that may ask, and read the answers (CORS): "https://app.example:8443",
  /// byte by byte, or "*": all pages, also those that a browser on this machine happens to show.
  std::vector<std::string> allowed_origins = {};
  /// Random bytes, at least 16, that nobody else knows: seeds, ids and the namespaces of the cache
  /// come from them.
  std::string secret = {};
  /// Where the namespaces of the cache come from instead: 32 bytes that outlive the process, for an
  /// engine that keeps its cache (DiskCache::KeepSecret). Empty: `secret`.
  std::string cache_secret = {};
  /// The time of day in seconds since 1970.
  std::function<int64_t()> unix_seconds = nullptr;
  /// What an embedding is made of; kNone: there are none.
  Pooling pooling = Pooling::kLast;
  /// If set, requests may ask for receipts of their answers (skald/receipt.h): the types of K and V
  /// that the engine was made with. Create then reads the whole file of the model, for its hash.
  /// Not for an engine that speculates under SpeculationRule::kRejection.
  std::optional<KvCacheTypes> receipts = {};
  /// What the machine can do (CeilingMeter), measured beforehand: the console then says how close
  /// to it each step comes.
  std::optional<Ceilings> ceilings = {};
  int64_t max_connections = 1024;
  /// Bytes that bodies, prepared requests and unread answers of all clients take together. One
  /// client (a key, without keys an address) gets as much as is left free: alone half.
  int64_t max_buffered_bytes = int64_t{256} << 20;
  /// Of one answer that is not a stream; at most a quarter of max_buffered_bytes.
  int64_t max_answer_bytes = int64_t{64} << 20;
  /// At which a body must come and an answer be taken, in each window of body_seconds and
  /// stall_seconds.
  double least_bytes_per_second = 1024;
  size_t max_body_bytes = size_t{8} << 20;
  double head_seconds = 10;   ///< for a request's head to come
  double body_seconds = 30;   ///< of its body: without the least rate
  double idle_seconds = 30;   ///< between two requests
  double stall_seconds = 30;  ///< without a byte of the answer taken by the client
  double drain_seconds = 30;  ///< for streams to end after SIGTERM
  /// For the engine to do nothing though requests wait for it (a hundred times what a unit of its
  /// work takes), for the I/O thread to stand still, or for a piece of work to go on beyond its
  /// limit (in processor time). Then on_dead is called.
  double dead_seconds = 8;
  /// What stands still, in a sentence without a dot. Called by any thread of the server, none of
  /// which can do anything about it, nor can anybody in this process.
  std::function<void(const std::string& what)> on_dead = nullptr;
  /// A sentence for the log that is not about a request. Called on the I/O thread.
  std::function<void(const std::string& text)> on_notice = nullptr;
  /// Called on the I/O thread: it must return at once.
  std::function<void(const AccessRecord& record)> on_access = nullptr;
};

/// See above.
class Server {
 public:
  /// Binds and listens. Errors: kInvalidArgument (an address that is none, or is not of this
  /// machine and there are no keys, or is admin_listen; keys that are none; no secret, no clock),
  /// kIo (the system refuses the port).
  static Result<Server> Create(const Model& model, Engine engine, ServerOptions options);
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  /// The port it listens on.
  uint16_t port() const;
  /// The port of admin_listen; 0 without.
  uint16_t admin_port() const;

  /// Serves until SIGTERM, SIGINT or Stop: then takes no more connections and requests, lets what
  /// runs end for drain_seconds, and cuts off the rest with an error. From the first signal on the
  /// system's own action stands behind both: a second one ends the process, whatever it is doing.
  /// Errors: what StopBecause was given.
  Status Run();
  /// Any thread: as the first signal.
  void Stop();
  /// Any thread: the engine can compute no more, and ends each of its requests with an error. Takes
  /// no more connections and requests; clients have half a second to hear of it. Run returns `why`.
  void StopBecause(Status why);

  /// What stands behind a Server. Defined by the server room.
  struct State;

 private:
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
