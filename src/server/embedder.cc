#include "server/embedder.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "server/answer.h"

namespace skald::server {

namespace {

// Answers that may be longer are written on the pool: some ms.
constexpr int64_t kInlineBytes = int64_t{64} << 10;

}  // namespace

Embedder::Embedder(GenerationContext context, AnswerChannel& channel, GenerationName name,
                   TenantAccounts::Claim claim)
    : context_(std::move(context)),
      channel_(&channel),
      name_(std::move(name)),
      claim_(std::move(claim)),
      wait_(context_.activity),
      arrived_(context_.clock.Now()) {}

Embedder::~Embedder() { CancelParts(); }

ExchangeSummary Embedder::Summary() const {
  return {.id = name_.id, .prompt_tokens = prompt_tokens_, .cached_tokens = cached_.total()};
}

void Embedder::CancelParts() {
  for (const Part& part : parts_) {
    if (part.answer.end) continue;
    part.sink->Close();
    context_.engine.Cancel(part.id);
  }
  parts_.clear();
  wait_.End();
}

void Embedder::OnGone() {
  channel_ = nullptr;
  work_ = {};
  CancelParts();
}

void Embedder::OnShutdown() {
  Fail({.status = 503, .message = "the server is stopping", .code = "shutting_down"});
}

std::vector<HttpField> Embedder::Fields() const {
  return AnswerFields(name_.id, {.ignored = prepared_.ignored});
}

void Embedder::Fail(const ApiError& error) {
  CancelParts();
  if (channel_ == nullptr) return;
  std::exchange(channel_, nullptr)->Refuse(error, Fields());
}

void Embedder::Start(PreparedVectors prepared) {
  if (channel_ == nullptr) return;
  prepared_ = std::move(prepared);
  vectors_.resize(prepared_.engine_requests.size());
  for (const Request& request : prepared_.engine_requests)
    prompt_tokens_ += static_cast<int64_t>(request.prompt.size());
  const auto at_once = static_cast<int64_t>(std::min(vectors_.size(), kInputsAtOnce));
  const Load load = {.sequences = at_once, .tokens = prompt_tokens_};
  if (const auto error = claim_.Take(load, context_.clock.Now())) return Fail(*error);
  if (!channel_->Reserve(prompt_tokens_ * static_cast<int64_t>(sizeof(TokenId)) +
                         prepared_.numbers * static_cast<int64_t>(sizeof(float)) +
                         prepared_.answer_bytes))
    return Fail(NoRoom());
  SubmitMore();
}

// Where the queue is full, what this request has in the engine makes room when it ends; if it has
// nothing there, the answer is that the server is full.
void Embedder::SubmitMore() {
  while (submitted_ < vectors_.size() && parts_.size() < kInputsAtOnce) {
    const Status status = Submit(submitted_);
    if (status.code() == ErrorCode::kUnavailable && !parts_.empty()) break;
    if (!status.ok()) return Fail(FromEngine(status));
    ++submitted_;
  }
  wait_.Begin();
}

Status Embedder::Submit(size_t input) {
  // A copy: it may have to be submitted again.
  Request request = prepared_.engine_requests[input];
  request.label = name_.label;
  const std::weak_ptr<Embedder> self = weak_from_this();
  TextOptions options = {.on_ready = [self, post = context_.post] {
    post([self] {
      if (const auto embedder = self.lock()) embedder->ReadEvents();
    });
  }};
  auto sink = TextSink::Create(context_.served.model.tokenizer(), request, std::move(options));
  Transcript answer(request);
  if (!sink.ok()) return sink.status();
  const Result<RequestId> id = context_.engine.Submit(std::move(request), *sink);
  if (!id.ok()) return id.status();
  parts_.push_back({.sink = *sink, .id = *id, .input = input, .answer = std::move(answer)});
  prepared_.engine_requests[input].prompt.clear();
  return Ok();
}

void Embedder::ReadEvents() {
  if (channel_ == nullptr) return;
  const std::shared_ptr<Embedder> alive = shared_from_this();
  // By number: a failure empties the list.
  for (size_t i = 0; i < parts_.size(); ++i) ReadPart(parts_[i]);
  if (channel_ == nullptr) return;
  const auto finished = [](const Part& part) { return part.answer.end.has_value(); };
  if (std::erase_if(parts_, finished) == 0) return;
  SubmitMore();
  if (channel_ != nullptr && parts_.empty()) Finish();
}

void Embedder::ReadPart(Part& part) {
  while (const std::optional<TextEvent> next = part.sink->TryNext()) part.answer.Add(next->event);
  if (!part.answer.end) return;
  cached_ += part.answer.cached_from;
  vectors_[part.input] = std::move(part.answer.embedding);
  FailWith(FinishedEvent(*part.answer.end));  // a copy: it may empty the list
}

// What remains to be said if a request of the engine was cut off.
void Embedder::FailWith(const FinishedEvent& end) {
  if (end.reason == FinishReason::kStop) return;
  if (end.reason == FinishReason::kCancelled) return OnShutdown();
  Fail({.status = 500, .message = "the model could not compute an answer"});
}

// Forty million characters of numbers are some seconds of work: that is not for the I/O thread.
void Embedder::Finish() {
  wait_.End();
  const std::shared_ptr<const VectorWriter> writer = prepared_.writer;
  if (prepared_.answer_bytes <= kInlineBytes) return Respond(writer->List(std::move(vectors_)));
  // What the pool needs is its own: this lives and ends on the I/O thread.
  const auto vectors = std::make_shared<std::vector<std::vector<float>>>(std::move(vectors_));
  const auto run = [weak = weak_from_this(), post = context_.post, vectors,
                    writer](const WorkLimit&) {
    const auto pieces =
        std::make_shared<std::vector<std::string>>(writer->List(std::move(*vectors)));
    post([weak, pieces] {
      if (const auto self = weak.lock()) self->Respond(std::move(*pieces));
    });
  };
  Await(context_.work({.tenant = name_.tenant,
                       .cost_bytes = prepared_.answer_bytes,
                       .share = name_.share,
                       .run = run}));
}

void Embedder::Respond(std::vector<std::string> vectors) {
  if (channel_ == nullptr) return;
  JsonWriter json;
  json.BeginObject();
  prepared_.writer->AddMembers({.id = name_.id,
                                .unix_seconds = context_.clock.UnixSeconds(),
                                .model = context_.served.name,
                                .fingerprint = context_.served.fingerprint,
                                .prompt_tokens = prompt_tokens_,
                                .cached = cached_,
                                .seconds = context_.clock.Now() - arrived_},
                               json);
  json.EndObject();
  // The members behind the list, which may be many megabytes.
  vectors.push_back(json.Take());
  vectors.back().front() = ',';
  std::exchange(channel_, nullptr)
      ->Respond({.fields = AnswerFields(name_.id, {.ignored = prepared_.ignored}),
                 .body = std::string(prepared_.writer->opening()),
                 .more = std::move(vectors)});
}

}  // namespace skald::server
