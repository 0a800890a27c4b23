// Fuzz target: the whole server behind a socket. Each input is what one client sends; it must get
// an answer or a closed connection, and the next client must be served as ever.
//
// Behind the server stands an engine without a model, linked in the place of the real one: it
// answers at once with tokens drawn from the request's number, is full now and then, and fails now
// and then. So the target is everything between a socket and Engine::Submit, and builds without
// kernels.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "e2e/bare_model.h"
#include "engine/request_check.h"
#include "load/model_chat_template.h"
#include "server/test_client.h"
#include "skald/bench.h"
#include "skald/server.h"
#include "text/test_vocabs.h"

namespace skald {

namespace {

constexpr int64_t kContext = 64;
constexpr int64_t kWidth = 4;
// As many events fit into every sink (16 sequences of them, and their ends).
constexpr int64_t kMostTokens = 8;

Result<Model> MakeModel() {
  auto tokenizer = Tokenizer::Create(text::SmallByteLevel("gpt-2").spec());
  CHECK(tokenizer.ok());
  Result<ChatTemplate> chat = load::ChatTemplateOf("", *tokenizer);
  return BareModel({.name = "fake", .rank_pooling = Pooling::kLast}, *std::move(tokenizer),
                   std::move(chat));
}

}  // namespace

struct Engine::State {
  engine::RequestLimits limits;
  uint64_t next_id = 1;
  EngineStats stats;
};

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

Result<Engine> Engine::Create(const Model& model, const EngineOptions&) {
  auto state = std::make_unique<State>();
  state->limits = {.context = kContext,
                   .vocab = model.tokenizer().vocab_size(),
                   .page_count = 64,
                   .max_running = 16,
                   .rank_pooling = model.info().rank_pooling};
  return Engine(std::move(state));
}

Result<RequestId> Engine::Submit(Request request, std::shared_ptr<EventSink> sink) {
  Status status = engine::CheckRequest(request, state_->limits);
  if (!status.ok()) return status;
  const uint64_t number = state_->next_id++;
  if (number % 11 == 0) return Status(ErrorCode::kUnavailable, "the queue is full");
  const int32_t sequences = request.sequence_count();
  CHECK(sink->HasRoom(2 * int64_t{sequences} + 2));
  const auto push = [&](Event event) {
    event.request = RequestId{number};
    return sink->Push(event);
  };
  push({.what = QueuedEvent{}});
  push({.what = AdmittedEvent{.total = static_cast<int64_t>(request.prompt.size())}});
  if (request.prompt_logprobs) push({.what = PromptLogprobsEvent{.logprobs = FlatPrompt(request)}});
  const bool fails = number % 7 == 0;
  const int64_t wanted = request.stop.max_tokens < 0 ? kMostTokens : request.stop.max_tokens;
  for (int32_t sequence = 0; sequence < sequences; ++sequence) {
    Listening listening = Listening::kGoOn;
    if (request.pooling != Pooling::kNone) {
      const size_t numbers = request.score ? 1 : kWidth;
      push({.what = EmbeddingEvent{.values = std::vector<float>(numbers, 0.5f)}});
    }
    const int64_t tokens = request.pooling == Pooling::kNone ? std::min(wanted, kMostTokens) : 0;
    for (int64_t i = 0; i < tokens && listening == Listening::kGoOn; ++i) {
      const uint64_t drawn = number * 31 + static_cast<uint64_t>(sequence * 7 + i);
      TokenEvent token = {.index = i};
      token.token = static_cast<TokenId>(drawn % static_cast<uint64_t>(state_->limits.vocab));
      if (request.sampling.top_logprobs) token.logprob = -0.5;
      listening = push({.sequence = sequence, .what = std::move(token)});
    }
    const FinishReason reason = fails ? FinishReason::kError : FinishReason::kLength;
    push({.sequence = sequence, .what = SequenceFinishedEvent{.reason = reason}});
  }
  std::vector<int32_t> answer(static_cast<size_t>(request.n));
  std::iota(answer.begin(), answer.end(), sequences - request.n);
  const FinishReason reason = fails                               ? FinishReason::kError
                              : request.pooling == Pooling::kNone ? FinishReason::kLength
                                                                  : FinishReason::kStop;
  push({.what = FinishedEvent{.reason = reason, .answer = std::move(answer)}});
  return RequestId{number};
}

void Engine::Cancel(RequestId) {}
EngineStats Engine::Stats() const { return state_->stats; }
std::vector<RequestProgress> Engine::Requests() const { return {}; }
EngineLook Engine::Look() { return {.view = std::make_shared<const EngineView>()}; }
BenchWork Engine::WorkOf(const ViewedWork&) const { return {}; }
void Engine::ReaderWaits() {}
void Engine::ReaderIsServed() {}
uint64_t Engine::progress() const { return state_->next_id; }
int64_t Engine::embedding_width() const { return kWidth; }
int64_t Engine::context() const { return kContext; }
int Engine::threads() const { return 1; }
std::string_view Engine::isa_name() const { return "none"; }
int64_t Engine::kv_bytes() const { return 0; }
int64_t Engine::state_bytes() const { return 0; }
int64_t Engine::max_running() const { return 16; }
int64_t Engine::max_queued() const { return 256; }

namespace {

// Serves until the process ends.
class Running {
 public:
  Running() : model_(*MakeModel()) {
    ServerOptions options = {.port = 0,
                             .model_name = "fake",
                             .version = "1",
                             .secret = "0123456789abcdef",
                             .unix_seconds = [] { return int64_t{1'700'000'000}; },
                             .max_body_bytes = 1 << 20};
    server_.emplace(*Server::Create(model_, *Engine::Create(model_, {}), std::move(options)));
    thread_.emplace("connections", [this] { CHECK(server_->Run().ok()); });
  }
  ~Running() {
    server_->Stop();
    thread_.reset();
  }
  uint16_t port() const { return server_->port(); }

 private:
  Model model_;
  std::optional<Server> server_;
  std::optional<Thread> thread_;
};

// A client that does not get what it wants within TestClient's patience gets nothing: found here.
std::string Exchange(uint16_t port, std::string_view bytes) {
  server::TestClient client(port);
  CHECK(client.connected());
  client.Send(bytes);
  client.EndSending();
  return client.ReadAll();
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const skald::Running server;
  const std::string answer =
      skald::Exchange(server.port(), {reinterpret_cast<const char*>(data), size});
  // One answer after the other, the first from its first byte.
  CHECK(answer.empty() || answer.starts_with("HTTP/1.1 "));
  const std::string canary =
      skald::Exchange(server.port(), "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(canary.starts_with("HTTP/1.1 200 "));
  return 0;
}
