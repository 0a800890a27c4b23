#include "server/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace skald::server {

namespace {

namespace asio = boost::asio;

// Below it an exchange that stopped for a slow client goes on.
constexpr size_t kLowWater = size_t{32} << 10;
// What a client may send of its next requests while one is answered.
constexpr size_t kPipelinedMax = size_t{64} << 10;
// How long the rest of a refused request is thrown away, so that the refusal is read.
constexpr double kLingerSeconds = 2;
constexpr int kSendBuffer = 256 << 10;
// Pieces of an answer are joined up to here: few calls, and what is written is soon let go.
constexpr size_t kPieceBytes = size_t{16} << 10;
// What a connection may hold in any case: a short request is served though its client's share is
// full of long ones.
constexpr int64_t kInAnyCase = int64_t{16} << 10;
// A body or an answer that has taken no longer is not slow.
constexpr double kSlowSeconds = 5;

// RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(std::time_t now) {
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text;
  const size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text.data(), length);
}

}  // namespace

std::string NetworkOf(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
  asio::ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), uint8_t{0});
  return asio::ip::address_v6(bytes).to_string();
}

Connection::Connection(Socket socket, uint64_t number, ConnectionContext context)
    : socket_(std::move(socket)),
      number_(number),
      context_(std::move(context)),
      reader_({.body_bytes = context_.options.max_body_bytes}),
      body_rate_(context_.options.least_bytes_per_second, context_.options.body_seconds),
      answer_rate_(context_.options.least_bytes_per_second, context_.options.stall_seconds),
      lease_(context_.budget, {}),
      phase_since_(context_.clock.Now()),
      last_write_progress_(phase_since_) {}

void Connection::Start() {
  boost::system::error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (!error) {
    client_ = peer.address().to_string();
    network_ = NetworkOf(peer.address());
  }
  lease_.ChargeTo(network_);
  socket_.non_blocking(true, error);
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  socket_.set_option(asio::socket_base::send_buffer_size(kSendBuffer), error);
  const auto timeout = static_cast<unsigned>(context_.options.stall_seconds * 1000);
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
  WaitForBytes();
}

void Connection::WaitForBytes() {
  if (reading_ || client_ended_ || phase_ == Phase::kClosed) return;
  reading_ = true;
  socket_.async_wait(
      Socket::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
        // The end too: letting go of a long body takes its time.
        self->context_.turns.Add(self->payer(), [self, error] { self->OnReadable(error); });
      });
}

void Connection::OnReadable(const boost::system::error_code& waited) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (waited) return Gone();
  boost::system::error_code error;
  std::vector<char>& buffer = context_.read_buffer;
  const size_t count = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block) return WaitForBytes();
  if (error == asio::error::eof) return OnClientEnd();
  if (error) return Gone();
  if (phase_ == Phase::kLingering) return WaitForBytes();
  if (reader_.idle()) phase_since_ = context_.clock.Now();
  reader_.Feed({buffer.data(), count});
  body_rate_.Moved(count);
  if (!HasRoom()) return RefuseAndClose(NoRoom());
  OnBytes();
}

int64_t Connection::HeldBytes() const {
  return static_cast<int64_t>(reader_.held_bytes() + queued_bytes_) + exchange_bytes_;
}

// Whether what has just come may stay: slower clients of the same payer make room for it.
bool Connection::HasRoom() {
  // In the middle of an answer it is the next request: little, and it is not refused then.
  if (phase_ == Phase::kReading) return HoldHeld();
  CountHeld();
  return true;
}

bool Connection::HoldHeld() {
  if (HeldBytes() <= kInAnyCase) {
    CountHeld();
    return true;
  }
  while (!lease_.Resize(HeldBytes())) {
    if (!context_.make_room(payer(), number_)) return false;
  }
  return true;
}

bool Connection::Reserve(int64_t bytes) {
  const int64_t before = std::exchange(exchange_bytes_, bytes);
  if (HoldHeld()) return true;
  exchange_bytes_ = before;
  return false;
}

std::optional<int> Connection::uselessness() const {
  if (phase_ == Phase::kLingering || held_) return 0;
  if (phase_ != Phase::kReading) return std::nullopt;
  return reader_.idle() ? 1 : 2;
}

std::optional<double> Connection::SlowRate() const {
  const double now = context_.clock.Now();
  const LeastRate& rate = phase_ == Phase::kReading ? body_rate_ : answer_rate_;
  if (rate.Seconds(now) < kSlowSeconds) return std::nullopt;
  return rate.Average(now);
}

void Connection::EndAsSlow() {
  if (phase_ == Phase::kReading) return RefuseAndClose(NoRoom());
  Gone();
}

void Connection::OnClientEnd() {
  client_ended_ = true;
  if (phase_ != Phase::kAnswering) return Gone();
  WaitForReset();
  if (!answer_begun_ && !is_http_1_0_)
    Send(HeadBytes(102, {}));
  else if (answer_begun_ && !answered_)
    Write(heartbeat_);
}

void Connection::WaitForReset() {
  if (std::exchange(reset_awaited_, true)) return;
  socket_.async_wait(Socket::wait_error,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->phase_ != Phase::kClosed) self->Gone();
                     });
}

void Connection::OnBytes() {
  if (phase_ == Phase::kReading) {
    const RequestReader::State state = reader_.state();
    if (state == RequestReader::State::kRefused) return RefuseAndClose(reader_.error());
    if (state != RequestReader::State::kHead && !head_checked_ && !CheckHead()) return;
    if (state == RequestReader::State::kBody) body_rate_.Start(context_.clock.Now());
    if (state == RequestReader::State::kComplete) Handle();
  }
  if (phase_ == Phase::kAnswering && reader_.waiting_bytes() > kPipelinedMax) return WaitForReset();
  WaitForBytes();
}

// False if the head was refused.
bool Connection::CheckHead() {
  head_checked_ = true;
  const HttpRequest& request = reader_.request();
  method_ = request.method;
  path_ = request.Path();
  tenant_ = nullptr;
  cors_fields_ = context_.service.CorsFieldsFor(request, context_.door);
  auto access = context_.service.CheckHead(request, context_.door);
  if (const auto* error = std::get_if<ApiError>(&access)) {
    // Who brings no key guesses none.
    if (error->status == 401 && BringsKey(request))
      RefuseKey(*error);
    else
      RefuseAndClose(*error);
    return false;
  }
  tenant_ = std::get<std::shared_ptr<const Tenant>>(std::move(access));
  if (tenant_->id != kEveryone) lease_.ChargeTo("key " + std::to_string(tenant_->id));
  if (request.expects_continue && reader_.state() == RequestReader::State::kBody)
    Send(HeadBytes(100, {}));
  return true;
}

void Connection::Handle() {
  HttpRequest request = reader_.Take();
  head_checked_ = false;
  body_rate_.Stop();
  exchange_bytes_ = static_cast<int64_t>(request.body.capacity());
  method_ = request.method;
  path_ = request.Path();
  is_http_1_0_ = request.is_http_1_0;
  keep_alive_ = request.keep_alive && !draining_;
  phase_ = Phase::kAnswering;
  answer_begun_ = answered_ = chunked_ = false;
  status_ = 0;
  bytes_ = 0;
  began_ = context_.clock.Now();
  in_handle_ = true;
  std::shared_ptr<Exchange> exchange = context_.service.Handle(std::move(request), tenant_, *this);
  in_handle_ = false;
  exchange_ = std::move(exchange);
  if (answered_) AnswerDone();
}

// At once, or later. While it waits nothing is read, and what has come of a body is let go.
void Connection::RefuseKey(const ApiError& error) {
  began_ = context_.clock.Now();
  const double seconds = context_.refusals.Next(network_, began_);
  if (seconds <= 0) return RefuseAndClose(error);
  body_rate_.Stop();
  reader_.Drop();
  CountHeld();
  phase_ = Phase::kAnswering;
  keep_alive_ = answer_begun_ = answered_ = false;
  bytes_ = 0;
  auto place = context_.refusals.TryHold();
  if (!place) {
    LogAnswer(error.status);
    return Close();
  }
  held_.emplace(Held{*std::move(place), asio::steady_timer(socket_.get_executor())});
  held_->timer.expires_after(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
  held_->timer.async_wait(
      [self = shared_from_this(), error](const boost::system::error_code& cancelled) {
        if (cancelled || !self->held_) return;
        self->held_.reset();
        self->RefuseAndClose(error);
      });
  WaitForReset();
}

void Connection::RefuseAndClose(const ApiError& error) {
  if (!head_checked_) {  // those are of the request before
    method_ = path_ = {};
    tenant_ = nullptr;
    cors_fields_.clear();
  }
  body_rate_.Stop();
  reader_.Drop();
  // A refusal that was held began when it was.
  if (phase_ != Phase::kAnswering) began_ = context_.clock.Now();
  phase_ = Phase::kAnswering;
  keep_alive_ = false;
  answer_begun_ = answered_ = false;
  bytes_ = 0;
  in_handle_ = true;
  Refuse(error, {});
  in_handle_ = false;
  AnswerDone();
}

std::vector<HttpField> Connection::CommonFields() const {
  std::vector<HttpField> fields = {{"date", HttpDate(context_.clock.UnixSeconds())},
                                   {"cache-control", "no-store"},
                                   {"x-content-type-options", "nosniff"},
                                   {"connection", keep_alive_ ? "keep-alive" : "close"}};
  fields.insert(fields.end(), cors_fields_.begin(), cors_fields_.end());
  return fields;
}

void Connection::Respond(HttpResponse response) {
  std::vector<HttpField> fields = CommonFields();
  fields.push_back({"content-type", response.content_type});
  const size_t body_bytes = response.BodyBytes();
  fields.push_back({"content-length", std::to_string(body_bytes)});
  fields.insert(fields.end(), response.fields.begin(), response.fields.end());
  answer_begun_ = true;
  status_ = response.status;
  bytes_ = static_cast<int64_t>(body_bytes);
  exchange_bytes_ = 0;  // from here on it is backlog
  Send(HeadBytes(response.status, fields));
  if (method_ != "HEAD") {
    Send(std::move(response.body));
    for (std::string& piece : response.more) Send(std::move(piece));
  }
  answered_ = true;
  if (!in_handle_) AnswerDone();
}

void Connection::Refuse(const ApiError& error, std::vector<HttpField> more) {
  HttpResponse response = ToResponse(error, ErrorFormOf(path_));
  response.fields.insert(response.fields.end(), more.begin(), more.end());
  Respond(std::move(response));
}

void Connection::BeginStream(StreamForm form, std::vector<HttpField> more) {
  heartbeat_ = form.heartbeat;
  chunked_ = !is_http_1_0_;
  if (!chunked_) keep_alive_ = false;
  std::vector<HttpField> fields = CommonFields();
  fields.push_back({"content-type", std::string(form.content_type)});
  fields.push_back({"x-accel-buffering", "no"});
  if (chunked_) fields.push_back({"transfer-encoding", "chunked"});
  fields.insert(fields.end(), more.begin(), more.end());
  answer_begun_ = true;
  status_ = 200;
  Send(HeadBytes(200, fields));
}

void Connection::Write(std::string_view bytes) {
  bytes_ += static_cast<int64_t>(bytes.size());
  if (!chunked_) return Send(std::string(bytes));
  std::string chunk = fmt::format("{:x}\r\n", bytes.size());
  chunk += bytes;
  chunk += "\r\n";
  Send(std::move(chunk));
}

void Connection::EndStream() {
  if (chunked_) Send("0\r\n\r\n");
  answered_ = true;
  if (!in_handle_) AnswerDone();
}

void Connection::LogAnswer(int status) {
  ++context_.service.answers[status];
  if (!context_.options.on_access) return;
  const ExchangeSummary summary = exchange_ ? exchange_->Summary() : ExchangeSummary();
  context_.options.on_access({.client = client_,
                              .tenant = tenant_ ? tenant_->name : std::string(),
                              .method = method_,
                              .path = path_,
                              .status = status,
                              .id = summary.id,
                              .bytes = bytes_,
                              .seconds = context_.clock.Now() - began_,
                              .prompt_tokens = summary.prompt_tokens,
                              .cached_tokens = summary.cached_tokens,
                              .output_tokens = summary.output_tokens,
                              .warnings = summary.warnings});
}

void Connection::AnswerDone() {
  LogAnswer(status_);
  exchange_.reset();
  exchange_bytes_ = 0;
  CountHeld();
  if (!keep_alive_ || draining_ || client_ended_) {
    phase_ = Phase::kLingering;
    phase_since_ = context_.clock.Now();
    close_when_written_ = true;
    if (!write_active_) Linger();
    return;
  }
  phase_ = Phase::kReading;
  phase_since_ = context_.clock.Now();
  // Not from here: the answer may have come from deep inside the exchange.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->NextRequest(); });
}

void Connection::NextRequest() {
  if (phase_ == Phase::kReading) OnBytes();
}

void Connection::Gone() {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kAnswering) {
    if (exchange_) exchange_->OnGone();
    // A wrong key is one, whether its refusal was awaited or not.
    LogAnswer(held_ ? 401 : 499);
  }
  Close();
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kAnswering && exchange_) exchange_->OnGone();
  phase_ = Phase::kClosed;
  held_.reset();
  exchange_.reset();
  reader_.Drop();
  lease_.Force(0);
  queue_.clear();
  queued_bytes_ = 0;
  boost::system::error_code ignored;
  socket_.close(ignored);
  context_.on_closed(number_);
}

void Connection::CutOff() {
  if (phase_ == Phase::kAnswering && exchange_) {
    const std::shared_ptr<Exchange> exchange = exchange_;
    exchange->OnShutdown();
  }
}

void Connection::Send(std::string bytes) {
  if (phase_ == Phase::kClosed || bytes.empty()) return;
  queued_bytes_ += bytes.size();
  // The first piece is being written: its bytes must stay where they are.
  if (queue_.size() > 1 && queue_.back().size() + bytes.size() <= kPieceBytes)
    queue_.back() += bytes;
  else
    queue_.push_back(std::move(bytes));
  CountHeld();
  if (!write_active_) StartWrite();
}

void Connection::StartWrite() {
  const double now = context_.clock.Now();
  if (!answer_rate_.active()) last_write_progress_ = now;
  answer_rate_.Start(now);
  write_active_ = true;
  const std::string& piece = queue_.front();
  socket_.async_write_some(
      asio::buffer(piece.data() + written_, piece.size() - written_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t count) {
        self->OnWritten(error, count);
      });
}

void Connection::OnWritten(const boost::system::error_code& error, size_t count) {
  write_active_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return Gone();
  written_ += count;
  queued_bytes_ -= count;
  if (written_ == queue_.front().size()) {
    queue_.pop_front();
    written_ = 0;
  }
  answer_rate_.Moved(count);
  last_write_progress_ = context_.clock.Now();
  CountHeld();
  if (backlog() > 0) {
    StartWrite();
  } else {
    answer_rate_.Stop();
    if (close_when_written_) return Linger();
  }
  if (backlog() < kLowWater && exchange_) {
    const std::shared_ptr<Exchange> exchange = exchange_;
    exchange->OnWritable();
  }
}

// The last answer is out. A close while bytes of the client are unread would be a reset, which can
// overtake the answer.
void Connection::Linger() {
  boost::system::error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error || client_ended_) return Close();
  WaitForBytes();
}

bool Connection::IsOver(double since, double seconds) const {
  return context_.clock.Now() - since > seconds;
}

void Connection::OnTick() {
  const ServerOptions& options = context_.options;
  const double now = context_.clock.Now();
  const bool stalled = backlog() > 0 && IsOver(last_write_progress_, options.stall_seconds);
  if (answer_rate_.TooSlow(now) || stalled) return Gone();
  switch (phase_) {
    case Phase::kReading: {
      const bool idle = reader_.idle();
      const bool in_body = reader_.state() == RequestReader::State::kBody;
      const bool over =
          in_body ? body_rate_.TooSlow(now)
                  : IsOver(phase_since_, idle ? options.idle_seconds : options.head_seconds);
      if (!over) return;
      if (idle) return Close();
      return RefuseAndClose({.status = 408, .message = "the request did not come in time"});
    }
    case Phase::kAnswering:
      if (exchange_) exchange_->OnTick();
      return;
    case Phase::kLingering:
      if (IsOver(phase_since_, kLingerSeconds)) Close();
      return;
    case Phase::kClosed: return;
  }
}

}  // namespace skald::server
