#include "server/generation.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/rng.h"
#include "server/answer.h"
#include "server/answer_receipt.h"
#include "skald/receipt.h"

namespace skald::server {

namespace {

// A stream whose client is behind by so much takes no more events; it goes on at an eighth of that
// (Connection calls OnWritable).
constexpr size_t kBacklogMax = size_t{256} << 10;
// So often at least something is sent: proxies and clients give up on silence.
constexpr double kHeartbeatSeconds = 15;

// Answers that may be longer are written on the pool: some 0.2 ms.
constexpr int64_t kInlineBytes = int64_t{64} << 10;
// Of a choice beside its text.
constexpr int64_t kChoiceBytes = 256;

int64_t BytesOf(const PreparedGeneration& prepared) {
  size_t bytes = 0;
  for (const Request& request : prepared.engine_requests)
    bytes += sizeof(Request) + request.prompt.size() * sizeof(TokenId);
  for (const EchoedPrompt& prompt : prepared.echoed) bytes += prompt.json->size();
  for (const auto& [name, value] : prepared.request.repeated) bytes += name.size() + value.size();
  return static_cast<int64_t>(bytes);
}

std::optional<double> Earlier(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

bool IsEnd(FinishReason reason) {
  return reason == FinishReason::kStop || reason == FinishReason::kLength ||
         reason == FinishReason::kContext;
}

}  // namespace

uint64_t SeedOfPrompt(uint64_t seed, size_t index) {
  if (index == 0) return seed;
  const auto low = [](uint64_t number) { return static_cast<uint32_t>(number); };
  // The last word is the upper half of a position where tokens are drawn (base/rng.cc): no text is
  // so long.
  constexpr uint32_t kNoPosition = 0xFFFFFFFF;
  const std::array<uint32_t, 4> drawn =
      Philox4x32({low(index), low(index >> 32), 0, kNoPosition}, {low(seed), low(seed >> 32)});
  return uint64_t{drawn[1]} << 32 | drawn[0];
}

Generation::Generation(GenerationContext context, AnswerChannel& channel, GenerationName name,
                       TenantAccounts::Claim claim)
    : context_(std::move(context)),
      channel_(&channel),
      name_(std::move(name)),
      claim_(std::move(claim)),
      wait_(context_.activity),
      fields_(AnswerFields(name_.id, {})),
      arrived_(context_.clock.Now()) {}

Generation::~Generation() { CancelParts(); }

ExchangeSummary Generation::Summary() const {
  const Usage usage = UsageNow();
  return {.id = name_.id,
          .prompt_tokens = usage.prompt_tokens,
          .cached_tokens = usage.cached.total(),
          .output_tokens = usage.completion_tokens,
          .warnings = warnings_};
}

void Generation::CancelParts() {
  for (Part& part : parts_) {
    if (part.finished) continue;
    part.finished = true;
    part.sink->Close();
    context_.engine.Cancel(part.id);
  }
  wait_.End();
}

void Generation::OnGone() {
  channel_ = nullptr;
  work_ = {};
  CancelParts();
}

void Generation::OnWritable() {
  if (!wait_.waits() && !parts_.empty()) ReadEvents();
}

void Generation::OnShutdown() {
  Fail({.status = 503, .message = "the server is stopping", .code = "shutting_down"});
}

void Generation::OnTick() {
  if (channel_ != nullptr && streaming_ && context_.clock.Now() - last_write_ > kHeartbeatSeconds)
    WriteOut(answer_->stream_form().heartbeat);
}

void Generation::WriteOut(std::string_view bytes) {
  if (bytes.empty()) return;
  last_write_ = context_.clock.Now();
  channel_->Write(bytes);
}

void Generation::Fail(const ApiError& error) {
  CancelParts();
  if (channel_ == nullptr) return;
  AnswerChannel& channel = *std::exchange(channel_, nullptr);
  if (streaming_) {
    channel.Write(answer_->Error(error));
    channel.EndStream();
    return;
  }
  channel.Refuse(error, fields_);
}

// False if the tenant has no room for it, and that was the answer.
bool Generation::TakeLoad(const std::vector<Request>& requests) {
  Load load;
  for (const Request& request : requests) {
    const Load part = LoadOf(request, context_.engine.context());
    load.sequences += part.sequences;
    load.tokens += part.tokens;
  }
  const auto error = claim_.Take(load, context_.clock.Now());
  if (error) Fail(*error);
  return !error;
}

void Generation::Start(PreparedGeneration prepared) {
  if (channel_ == nullptr) return;
  if (prepared.request.receipt) {
    const auto error = RefuseReceipt(context_.served, prepared.engine_requests.front());
    if (error) return Fail(*error);
  }
  if (!TakeLoad(prepared.engine_requests)) return;
  prepared_bytes_ = BytesOf(prepared);
  request_ = std::move(prepared.request);
  warnings_ = WarningNames(prepared.warnings);
  fields_ = AnswerFields(
      name_.id, {.ignored = request_.ignored, .warnings = warnings_, .relaxed = prepared.left_out});
  const uint64_t seed = request_.has_seed ? request_.request.sampling.seed : name_.drawn_seed;
  answer_ = MakeAnswerWriter(
      request_.style,
      AnswerFrame{.kind = request_.kind,
                  .id = name_.id,
                  .created = context_.clock.UnixSeconds(),
                  .model = context_.served.name,
                  .seed = seed,
                  .system_fingerprint = context_.served.fingerprint,
                  .with_logprobs = request_.request.sampling.top_logprobs.has_value(),
                  .top_logprobs = request_.request.sampling.top_logprobs.value_or(0),
                  .prompt_logprobs = request_.prompt_logprobs,
                  .include_usage = request_.include_usage,
                  .calls = request_.tools.as_function ? CallForm::kFunction : CallForm::kTools,
                  .only_members = std::move(request_.only_members),
                  .repeated = std::move(request_.repeated)});
  const auto per_prompt = static_cast<size_t>(request_.request.sequence_count());
  sequences_.resize(per_prompt * prepared.engine_requests.size());
  BeginReading(prepared, seed);
  if (!ReserveHeld()) return;
  for (size_t i = 0; i < prepared.engine_requests.size(); ++i) {
    for (size_t s = 0; request_.echo && s < per_prompt; ++s) {
      sequences_[i * per_prompt + s].choice.prompt_json = prepared.echoed[i].json;
      sequences_[i * per_prompt + s].characters = prepared.echoed[i].characters;
    }
    Request& request = prepared.engine_requests[i];
    request.sampling.seed = SeedOfPrompt(seed, i);
    request.label = name_.label;
    prompt_tokens_ += static_cast<int64_t>(request.prompt.size());
    const int64_t characters = request_.echo ? prepared.echoed[i].characters : 0;
    if (!Submit(i, std::move(request), characters)) return;
  }
  wait_.Begin();
  streaming_ = request_.stream;
  if (streaming_) {
    last_write_ = context_.clock.Now();
    channel_->BeginStream(answer_->stream_form(), fields_);
  }
  if (request_.only_loads) Finish();
}

bool Generation::reads_answers() const {
  const ChatAnswerFormat& format = context_.served.chat.answers;
  if (request_.kind != GenerationKind::kChat) return false;
  // What a grammar allows is content, whatever it looks like, but for reasoning that is told apart.
  if (request_.grammar && request_.tools.tools == nullptr)
    return format.has_reasoning() && request_.split_reasoning;
  return format.has_calls() || format.has_reasoning();
}

// A reader for each sequence. Ids of calls are a function of the seed, the prompt and the sequence:
// the same for the same request, others in the next turn of the conversation.
void Generation::BeginReading(const PreparedGeneration& prepared, uint64_t seed) {
  if (!reads_answers()) return;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    sequences_[i].reader.emplace(
        context_.served.chat.answers,
        ChatAnswerOptions{.tools = request_.tools.tools,
                          .split_reasoning = request_.split_reasoning,
                          .in_reasoning = prepared.in_reasoning,
                          .one_call = request_.tools.one_call,
                          .id_seed = SeedOfPrompt(seed ^ prepared.prompt_hash, i)});
  }
}

// False if it was refused, and that was the answer.
bool Generation::Submit(size_t index, Request request, int64_t echoed_characters) {
  const std::weak_ptr<Generation> self = weak_from_this();
  TextOptions options = {
      .stop_strings = request_.stop_strings,
      .decode = {.from = request_.kind == GenerationKind::kChat ? DecodeFrom::kStart
                                                                : DecodeFrom::kContinuation,
                 .marks = reads_answers() ? context_.served.chat.answers.marks()
                                          : std::vector<TokenMark>()},
      .on_ready = [self, post = context_.post] {
        post([self] {
          if (const auto generation = self.lock()) generation->ReadEvents();
        });
      }};
  const auto first = static_cast<int64_t>(index) * request.sequence_count();
  auto sink = TextSink::Create(context_.served.model.tokenizer(), request, std::move(options));
  if (!sink.ok()) {
    Fail(FromEngine(sink.status()));
    return false;
  }
  const Load load = LoadOf(request, context_.engine.context());
  auto scored_prompt = PromptToScore(request, echoed_characters);
  const bool receipt = request_.receipt;
  Transcript transcript(request,
                        {.text = false, .tokens = receipt, .logprobs = false, .draws = receipt});
  auto asked = receipt ? std::make_shared<const Request>(request) : nullptr;
  const Result<RequestId> id = context_.engine.Submit(std::move(request), *sink);
  if (!id.ok()) {
    Fail(FromEngine(id.status()));
    return false;
  }
  parts_.push_back({.sink = *sink,
                    .id = *id,
                    .first_choice = first,
                    .load = load,
                    .transcript = std::move(transcript),
                    .scored_prompt = std::move(scored_prompt),
                    .asked = std::move(asked)});
  return true;
}

std::shared_ptr<ScoredPrompt> Generation::PromptToScore(const Request& request,
                                                        int64_t characters) const {
  if (!request.prompt_logprobs) return nullptr;
  return std::make_shared<ScoredPrompt>(ScoredPrompt{.tokenizer = context_.served.model.tokenizer(),
                                                     .tokens = request.prompt,
                                                     .characters = characters});
}

void Generation::ReadEvents() {
  // News that were on their way when the last event was read would write the answer again, of
  // choices that the pool has taken already.
  if (channel_ == nullptr || on_pool_) return;
  const std::shared_ptr<Generation> alive = shared_from_this();
  for (Part& part : parts_) {
    if (streaming_ && channel_->backlog() > kBacklogMax) return wait_.End();
    ReadPart(part);
    if (channel_ == nullptr) return;
    if (streaming_ && !stream_begun_ && admitted()) {
      stream_begun_ = true;
      WriteOut(answer_->Begin(UsageNow()));
    }
    if (streaming_) SendPieces(part);
  }
  const bool keeps = !streaming_ || answer_->KeepsText() || request_.receipt;
  if (keeps && !ReserveHeld()) return;
  wait_.Begin();
  if (std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.finished; }))
    End();
}

void Generation::ReadPart(Part& part) {
  while (!part.finished) {
    const std::optional<TextEvent> event = part.sink->TryNext();
    if (!event) return;
    Take(part, *event);
    if (channel_ == nullptr) return;
  }
}

void Generation::Take(Part& part, const TextEvent& next) {
  Sequence& sequence = sequences_[static_cast<size_t>(part.first_choice + next.event.sequence)];
  part.transcript.Add(next);
  if (!next.text.empty()) TakeText(sequence, next.text);
  if (const auto* prompt = next.event.As<PromptLogprobsEvent>()) return TakePrompt(part, *prompt);
  if (const auto* token = next.event.As<TokenEvent>()) return TakeToken(sequence, *token);
  if (const auto* ended = next.event.As<SequenceFinishedEvent>())
    return TakeEnd(sequence, ended->reason, next.stop_index);
  if (!part.transcript.end) return;
  part.finished = true;
  const int64_t spare =
      part.load.tokens - part.transcript.prompt_tokens - part.transcript.output_tokens;
  claim_.GiveBack(part.load, spare, context_.clock.Now());
  FailWith(*part.transcript.end);
}

void Generation::TakePrompt(Part& part, const PromptLogprobsEvent& prompt) {
  const PromptLogprobs& logprobs = *prompt.logprobs;
  part.scored_prompt->logprobs = prompt.logprobs;
  held_bytes_ += static_cast<int64_t>(logprobs.tokens.size() *
                                          (sizeof(PromptLogprobs::Token) + sizeof(size_t)) +
                                      logprobs.top.size() * sizeof(TokenLogprob));
  for (int64_t i = 0; i < request_.request.sequence_count(); ++i)
    sequences_[static_cast<size_t>(part.first_choice + i)].choice.scored_prompt =
        part.scored_prompt;
}

void Generation::TakeToken(Sequence& sequence, const TokenEvent& token) {
  if (sequence.tells == ChatPiece::Kind::kReasoning) ++reasoning_tokens_;
  if (request_.receipt) held_bytes_ += kReceiptTokenBytes;
  const Tokenizer& tokenizer = context_.served.model.tokenizer();
  const bool is_end = tokenizer.IsEndOfGeneration(token.token);
  // Behind a prompt it is told: who scores texts leaves out one token that was generated.
  if (!request_.request.sampling.top_logprobs || (is_end && !request_.echo)) return;
  if (sequence.choice.scored.empty()) sequence.choice.text_offset = sequence.characters;
  sequence.choice.scored.push_back(Scored(token));
  held_bytes_ += static_cast<int64_t>(sizeof(ScoredToken) + token.top.size() * sizeof(TokenText));
  sequence.characters += CharactersOf(sequence.choice.scored.back());
}

ScoredToken Generation::Scored(const TokenEvent& token) const {
  const Tokenizer& tokenizer = context_.served.model.tokenizer();
  const auto text = [&](TokenId id, double logprob) {
    return TokenText{std::string(tokenizer.TokenBytes(id)), logprob};
  };
  ScoredToken scored = {.token = text(token.token, token.logprob.value_or(0)),
                        .is_hidden = tokenizer.IsControl(token.token)};
  for (const TokenLogprob& top : token.top) scored.top.push_back(text(top.token, top.logprob));
  return scored;
}

void Generation::TakeEnd(Sequence& sequence, FinishReason reason, int32_t stop_index) {
  if (!IsEnd(reason)) return;
  Choice& choice = sequence.choice;
  choice.reason = reason;
  if (stop_index >= 0) choice.stop_string = request_.stop_strings[static_cast<size_t>(stop_index)];
  if (!sequence.reader) return;
  const AnswerEnd end = EndedByItself(choice) ? AnswerEnd::kStop : AnswerEnd::kLength;
  held_bytes_ += AppendPieces(sequence.reader->Finish(end), &choice.pieces);
  choice.call_count = sequence.reader->call_count();
}

void Generation::TakeText(Sequence& sequence, const std::string& text) {
  held_bytes_ += static_cast<int64_t>(text.size());
  if (!sequence.reader) {
    sequence.choice.text += text;
    return;
  }
  std::vector<ChatPiece> pieces = sequence.reader->Push(text);
  if (!pieces.empty()) sequence.tells = pieces.back().kind;
  held_bytes_ += AppendPieces(std::move(pieces), &sequence.choice.pieces);
}

// What remains to be said if a request was cut off.
void Generation::FailWith(const FinishedEvent& end) {
  switch (end.reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
    case FinishReason::kContext: return;
    case FinishReason::kCancelled: return OnShutdown();
    case FinishReason::kDeadline:
      return Fail({.status = 503, .message = "the time of the request is up", .code = "deadline"});
    case FinishReason::kError:
      // What was asked for cannot be: a text too ambiguous for its grammar, biases that leave none.
      if (end.status.code() == ErrorCode::kInvalidArgument) return Fail(FromEngine(end.status));
      return Fail({.status = 500, .message = "the model could not compute an answer"});
  }
}

// The engine has begun with a prompt.
bool Generation::admitted() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.transcript.admitted_seconds.has_value(); });
}

// Of all prompts; the time of an answer is that of its first token to that of its last.
Usage Generation::UsageNow() const {
  Usage usage = {.prompt_tokens = prompt_tokens_, .reasoning_tokens = reasoning_tokens_};
  std::optional<double> admitted;
  std::optional<double> first;
  double last = 0;
  for (const Part& part : parts_) {
    const Transcript& each = part.transcript;
    usage.cached += each.cached_from;
    usage.completion_tokens += each.output_tokens;
    admitted = Earlier(admitted, each.admitted_seconds);
    first = Earlier(first, each.first_token_seconds);
    last = std::max(last, each.last_token_seconds);
  }
  if (!first) return usage;
  usage.prompt_seconds = *first - admitted.value_or(0);
  usage.output_seconds = last - *first;
  return usage;
}

void Generation::SendPieces(const Part& part) {
  for (int64_t i = 0; i < request_.request.sequence_count(); ++i) {
    const int64_t index = part.first_choice + i;
    SendSequence(index, sequences_[static_cast<size_t>(index)]);
  }
}

// What is known of the prompts and has come of the answer is counted against what all clients may
// make the server hold. False if that is too much, and this was the answer.
bool Generation::ReserveHeld() {
  if (channel_->Reserve(prepared_bytes_ + held_bytes_)) return true;
  Fail(NoRoom());
  return false;
}

void Generation::SendChunk(int64_t index, Sequence& sequence, const Choice& choice) {
  const bool is_first = !std::exchange(sequence.started, true);
  WriteOut(answer_->Chunk(
      index, choice, is_first ? AnswerWriter::Position::kFirst : AnswerWriter::Position::kLater));
}

void Generation::SendSequence(int64_t index, Sequence& sequence) {
  Choice& choice = sequence.choice;
  // A chunk for each piece; the tokens that made them are told with the first.
  for (ChatPiece& piece : std::exchange(choice.pieces, {}))
    SendChunk(index, sequence,
              {.pieces = {std::move(piece)}, .scored = std::exchange(choice.scored, {})});
  const bool has_news = !choice.text.empty() || !choice.scored.empty() || choice.prompt_json;
  if (has_news || (!sequence.started && choice.reason)) {
    SendChunk(index, sequence, choice);
    choice.text.clear();
    choice.scored.clear();
    choice.prompt_json.reset();
  }
  if (!choice.reason || sequence.ended) return;
  if (request_.receipt && !choice.receipt_json) return;
  sequence.ended = true;
  WriteOut(answer_->End(index, choice));
}

// The choices of the answer, prompt by prompt.
std::vector<Choice> Generation::TakeChoices() {
  std::vector<Choice> choices;
  for (const Part& part : parts_) {
    for (const int32_t sequence : part.transcript.end->answer) {
      choices.push_back(
          std::move(sequences_[static_cast<size_t>(part.first_choice + sequence)].choice));
    }
  }
  return choices;
}

// A long answer is written on the pool: the I/O thread has other clients.
void Generation::RespondFromPool(const Usage& usage) {
  int64_t bytes = kChoiceBytes * static_cast<int64_t>(sequences_.size()) + 4 * held_bytes_;
  for (const Sequence& sequence : sequences_) {
    for (const auto& json : {sequence.choice.prompt_json, sequence.choice.receipt_json})
      bytes += json ? std::ssize(*json) : 0;
    if (sequence.choice.scored_prompt)
      bytes += ScoredPromptBytes(request_, std::ssize(sequence.choice.scored_prompt->tokens));
  }
  if (bytes <= kInlineBytes) {
    AnswerChannel& channel = *std::exchange(channel_, nullptr);
    return channel.Respond(
        {.fields = fields_, .more = answer_->WholeInPieces(TakeChoices(), usage)});
  }
  if (!channel_->Reserve(prepared_bytes_ + held_bytes_ + bytes)) return Fail(NoRoom());
  on_pool_ = true;
  // What the pool needs is its own: this lives and ends on the I/O thread.
  const auto choices = std::make_shared<const std::vector<Choice>>(TakeChoices());
  for (Part& part : parts_) part.sink.reset();
  const auto run = [weak = weak_from_this(), post = context_.post, choices, answer = answer_,
                    usage](const WorkLimit&) {
    const auto pieces =
        std::make_shared<std::vector<std::string>>(answer->WholeInPieces(*choices, usage));
    post([weak, pieces] {
      const auto self = weak.lock();
      if (!self || self->channel_ == nullptr) return;
      AnswerChannel& channel = *std::exchange(self->channel_, nullptr);
      channel.Respond({.fields = self->fields_, .more = std::move(*pieces)});
    });
  };
  Await(context_.work(
      {.tenant = name_.tenant, .cost_bytes = bytes, .share = name_.share, .run = run}));
}

// Everything has come of the answer.
void Generation::End() {
  wait_.End();
  request_.receipt ? MakeReceiptOnPool() : Finish();
}

// Hashes of a long answer take longer than the I/O thread has: it has other clients.
void Generation::MakeReceiptOnPool() {
  Part& part = parts_.front();
  const auto sequence =
      std::make_shared<const TranscriptSequence>(std::move(part.transcript.sequences.front()));
  const int64_t bytes = ReceiptBytes(*part.asked, std::ssize(sequence->tokens));
  held_bytes_ += bytes;
  if (!ReserveHeld()) return;
  on_pool_ = true;
  const auto run = [weak = weak_from_this(), post = context_.post, sequence, asked = part.asked,
                    &served = context_.served,
                    is_chat = request_.kind == GenerationKind::kChat](const WorkLimit&) {
    const Result<Receipt> receipt = MakeReceipt(served.model, {.request = *asked,
                                                               .output = sequence->tokens,
                                                               .draws = sequence->draws,
                                                               .kv_types = *served.receipts,
                                                               .from_template = is_chat});
    auto json = std::make_shared<Result<std::string>>(
        receipt.ok() ? Result<std::string>(ReceiptJson(*receipt)) : receipt.status());
    post([weak, json] {
      if (const auto self = weak.lock()) self->TakeReceipt(std::move(*json));
    });
  };
  Await(context_.work(
      {.tenant = name_.tenant, .cost_bytes = bytes, .share = name_.share, .run = run}));
}

void Generation::TakeReceipt(Result<std::string> json) {
  if (channel_ == nullptr) return;
  on_pool_ = false;
  if (!json.ok()) return Fail(FromEngine(json.status()));
  sequences_.front().choice.receipt_json = std::make_shared<const std::string>(*std::move(json));
  if (streaming_) SendPieces(parts_.front());
  Finish();
}

void Generation::Finish() {
  wait_.End();
  Usage usage = UsageNow();
  usage.total_seconds = context_.clock.Now() - arrived_;
  if (!streaming_) return RespondFromPool(usage);
  AnswerChannel& channel = *std::exchange(channel_, nullptr);
  channel.Write(answer_->Finish(usage));
  channel.EndStream();
}

}  // namespace skald::server
