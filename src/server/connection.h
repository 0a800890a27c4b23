/// Connection: one socket. Reads requests, writes answers, notices when the client goes; knows no
/// routes.
///
/// While a request is being answered a read stays pending, so that a client that goes is noticed
/// whatever the state. The end of what a client sends (FIN) is not yet its end: it may have closed
/// one direction only. It is asked: an interim response (102), or a comment in a stream, which the
/// system of a client that has really gone answers with a reset. Bytes that come meanwhile are the
/// next request; when there are too many of them, reading stops.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/byte_budget.h"
#include "server/clock.h"
#include "server/exchange.h"
#include "server/least_rate.h"
#include "server/read_turns.h"
#include "server/refusal_delays.h"
#include "server/request_reader.h"
#include "server/service.h"
#include "skald/server.h"

namespace skald::server {

/// Who counts as one client: an address of IPv4, the 2^64 addresses of IPv6 that one is given.
std::string NetworkOf(const boost::asio::ip::address& address);

/// What all connections of a server share, and outlives them.
struct ConnectionContext {
  Service& service;
  Door door = Door::kPublic;  ///< by which this one came in
  const ServerOptions& options;
  const Clock& clock;
  /// Scratch for reads: one is in use at a time.
  std::vector<char>& read_buffer;
  ByteBudget& budget;
  ReadTurns& turns;
  RefusalDelays& refusals;
  /// Ends a connection of this payer that is slow with its bytes, if there is one: there is no room
  /// for those of connection `number`.
  std::function<bool(const std::string& payer, uint64_t number)> make_room;
  /// The connection is closed: who holds it lets it go.
  std::function<void(uint64_t number)> on_closed;
};

/// See above. I/O thread only.
class Connection final : public AnswerChannel, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  Connection(Socket socket, uint64_t number, ConnectionContext context);

  void Start();
  /// About once a second: deadlines, heartbeats.
  void OnTick();
  /// No further request after the one at hand, or the next if there is none.
  void Drain() { draining_ = true; }
  /// Whether a request is being answered, or its answer is not yet with the system.
  bool busy() const { return phase_ == Phase::kAnswering || backlog() > 0; }
  /// Since when it has been awaiting a request, reading one, or letting go.
  double phase_since() const { return phase_since_; }
  /// Whether it is of so little use that it is the first to close where a place is needed, 0 before
  /// 1 before 2; nothing where a request is being answered.
  ///   0: its last answer is out, or is a refusal that is held; 1: not a byte of a request has
  ///   come; 2: a part of one has.
  std::optional<int> uselessness() const;
  Door door() const { return context_.door; }
  /// Where the client is, see NetworkOf.
  const std::string& network() const { return network_; }
  /// Who pays for the bytes it holds.
  const std::string& payer() const { return lease_.payer(); }
  /// Bytes a second at which a body comes, or an answer is taken, that has taken some seconds yet.
  std::optional<double> SlowRate() const;
  /// Ends it for its slowness, with an answer if none has begun.
  void EndAsSlow();
  /// Ends the answer at hand with an error.
  void CutOff();
  /// Closes now, whatever the state.
  void Close();

  void Respond(HttpResponse response) override;
  void Refuse(const ApiError& error, std::vector<HttpField> fields) override;
  void BeginStream(StreamForm form, std::vector<HttpField> fields) override;
  void Write(std::string_view bytes) override;
  void EndStream() override;
  size_t backlog() const override { return queued_bytes_; }
  bool Reserve(int64_t bytes) override;

 private:
  enum class Phase : uint8_t {
    kReading,    ///< a request is awaited or coming
    kAnswering,  ///< it is being answered
    kLingering,  ///< the last answer is out; the rest of what the client sends is thrown away
    kClosed,
  };

  void WaitForBytes();
  void OnReadable(const boost::system::error_code& waited);
  void OnClientEnd();
  void WaitForReset();
  void OnBytes();
  bool CheckHead();
  void Handle();
  void RefuseKey(const ApiError& error);
  void RefuseAndClose(const ApiError& error);
  void AnswerDone();
  void NextRequest();
  void Gone();
  void Send(std::string bytes);
  int64_t HeldBytes() const;
  bool HasRoom();
  bool HoldHeld();
  void CountHeld() { lease_.Force(HeldBytes()); }
  void StartWrite();
  void OnWritten(const boost::system::error_code& error, size_t count);
  void Linger();
  void LogAnswer(int status);
  bool IsOver(double since, double seconds) const;
  std::vector<HttpField> CommonFields() const;

  Socket socket_;
  const uint64_t number_;
  ConnectionContext context_;
  std::string client_;  // its address
  std::string network_;
  RequestReader reader_;
  Phase phase_ = Phase::kReading;
  bool head_checked_ = false;
  bool reading_ = false;       // a read is pending
  bool client_ended_ = false;  // it has closed its direction
  bool reset_awaited_ = false;
  bool draining_ = false;
  bool keep_alive_ = false;
  bool in_handle_ = false;
  bool answer_begun_ = false;   // its head is written
  bool answered_ = false;       // it is complete
  bool chunked_ = false;        // the stream at hand
  std::string_view heartbeat_;  // of it
  bool close_when_written_ = false;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<const Tenant> tenant_;  // who asks, once the head is checked
  // A refusal that is held.
  struct Held {
    RefusalDelays::Place place;
    boost::asio::steady_timer timer;
  };
  std::optional<Held> held_;
  // Of the request at hand, for the log.
  std::string method_;
  std::string path_;
  std::vector<HttpField> cors_fields_;  // of its answer
  bool is_http_1_0_ = false;
  int status_ = 0;
  int64_t bytes_ = 0;
  double began_ = 0;

  std::deque<std::string> queue_;  // to be written, in pieces
  size_t queued_bytes_ = 0;        // of them, not yet written
  size_t written_ = 0;             // of the first piece
  bool write_active_ = false;
  int64_t exchange_bytes_ = 0;  // Reserve
  LeastRate body_rate_;
  LeastRate answer_rate_;
  ByteLease lease_;
  double phase_since_;  // of reading: the first byte or the end of the last answer
  double last_write_progress_;
};

}  // namespace skald::server
