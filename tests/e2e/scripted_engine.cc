// The Model and the Engine of scripted_server.h: no weights, and answers that stand in the prompt.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "e2e/bare_model.h"
#include "e2e/scripted_server.h"
#include "engine/request_check.h"
#include "grammar/constraint_state.h"
#include "skald/bench.h"
#include "text/test_vocabs.h"

namespace skald {

constexpr std::string_view kTemplate =
    "{# Hermes: <tool_call>\"arguments\"</tool_call> <think></think> #}"
    "{%- for tool in tools or [] %}<|im_start|>{{ tool | tojson }}{% endfor %}"
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content or '' }}"
    "{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function.name }}"
    "{{ call.function.arguments | tojson }}</tool_call>{% endfor %}{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}";

constexpr int64_t kContext = 100'000;

Model ScriptedModel() {
  text::OwnedSpec vocab = text::SmallByteLevel("gpt-2");
  for (const char* control : {"<|im_start|>", "<tool_call>", "</tool_call>", "<think>", "</think>",
                              "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"})
    vocab.Add(control, 3);
  vocab.fields.scores.clear();
  auto tokenizer = Tokenizer::Create(vocab.spec());
  CHECK(tokenizer.ok());
  ModelInfo info;
  info.name = "scripted";
  info.context_length = kContext;
  return BareModel(std::move(info), *std::move(tokenizer), ChatTemplate::Create(kTemplate, {}));
}

ServerOptions ScriptedOptions() {
  return {.port = 0,
          .model_name = "scripted",
          .version = "1",
          .secret = "0123456789abcdef",
          .unix_seconds = [] { return int64_t{1'700'000'000}; },
          .max_body_bytes = 4 << 20};
}

struct Engine::State {
  const Tokenizer& tokenizer;
  engine::RequestLimits limits;
  uint64_t next_id = 1;
  EngineStats stats = {};
};

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

Result<Engine> Engine::Create(const Model& model, const EngineOptions&) {
  return Engine(std::make_unique<State>(State{.tokenizer = model.tokenizer(),
                                              .limits = {.context = kContext,
                                                         .vocab = model.tokenizer().vocab_size(),
                                                         .page_count = kContext,
                                                         .max_running = 16}}));
}

namespace {

// The tokens of what the prompt asks for, and the end of the text.
std::vector<TokenId> Script(const Tokenizer& tokenizer, const std::vector<TokenId>& prompt) {
  const std::string text = tokenizer.Decode(prompt);
  const size_t end = text.rfind("@@");
  const size_t begin = end == std::string::npos ? end : text.rfind("@@", end - 1);
  CHECK(begin != std::string::npos);
  auto tokens =
      tokenizer.Encode(text.substr(begin + 2, end - begin - 2), {.special = SpecialTokens::kParse});
  CHECK(tokens.ok());
  tokens->push_back(tokenizer.eos_id());
  return *std::move(tokens);
}

// What a sequence is held to: what it may not write ends its request with an error.
class Held {
 public:
  Held(const Request& request, const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    if (request.constraint) state_.emplace(*request.constraint);
  }
  bool must_end() const { return state_ && state_->must_end(); }
  Status Write(TokenId token) {
    if (!state_) return Ok();
    if (!tokenizer_.IsEndOfGeneration(token)) return state_->Advance(token);
    if (state_->may_end()) return Ok();
    return {ErrorCode::kInvalidArgument, "the text may not end here"};
  }

 private:
  const Tokenizer& tokenizer_;
  std::optional<grammar::ConstraintState> state_;
};

}  // namespace

Result<RequestId> Engine::Submit(Request request, std::shared_ptr<EventSink> sink) {
  Status status = engine::CheckRequest(request, state_->limits);
  if (!status.ok()) return status;
  const RequestId id{state_->next_id++};
  const std::vector<TokenId> script = Script(state_->tokenizer, request.prompt);
  const auto push = [&](Event event) {
    event.request = id;
    return sink->Push(event);
  };
  push({.what = AdmittedEvent{.total = static_cast<int64_t>(request.prompt.size())}});
  if (request.prompt_logprobs) push({.what = PromptLogprobsEvent{.logprobs = FlatPrompt(request)}});
  const auto most =
      request.stop.max_tokens < 0 ? script.size() : static_cast<size_t>(request.stop.max_tokens);
  for (int32_t sequence = 0; sequence < request.sequence_count(); ++sequence) {
    Listening listening = Listening::kGoOn;
    Held held(request, state_->tokenizer);
    size_t i = 0;
    for (; i < std::min(most, script.size()) && listening == Listening::kGoOn; ++i) {
      if (held.must_end()) break;
      if (Status written = held.Write(script[i]); !written.ok()) {
        push({.what = FinishedEvent{.reason = FinishReason::kError, .status = std::move(written)}});
        return id;
      }
      TokenEvent token = {.token = script[i], .index = static_cast<int64_t>(i)};
      if (request.sampling.top_logprobs) token.logprob = -0.5;
      CHECK(sink->HasRoom(4));  // scripts are short
      listening = push({.sequence = sequence, .what = std::move(token)});
    }
    const bool stopped =
        i == script.size() || held.must_end() || listening == Listening::kEndSequence;
    const FinishReason reason = stopped ? FinishReason::kStop : FinishReason::kLength;
    push({.sequence = sequence, .what = SequenceFinishedEvent{.reason = reason}});
  }
  std::vector<int32_t> answer(static_cast<size_t>(request.n));
  std::iota(answer.begin(), answer.end(), 0);
  push({.what = FinishedEvent{.answer = std::move(answer)}});
  return id;
}

void Engine::Cancel(RequestId) {}
EngineStats Engine::Stats() const { return state_->stats; }
std::vector<RequestProgress> Engine::Requests() const { return {}; }
EngineLook Engine::Look() { return {.view = std::make_shared<const EngineView>()}; }
BenchWork Engine::WorkOf(const ViewedWork&) const { return {}; }
void Engine::ReaderWaits() {}
void Engine::ReaderIsServed() {}
uint64_t Engine::progress() const { return state_->next_id; }
int64_t Engine::embedding_width() const { return 4; }
int64_t Engine::context() const { return kContext; }
int Engine::threads() const { return 1; }
std::string_view Engine::isa_name() const { return "none"; }
int64_t Engine::kv_bytes() const { return 0; }
int64_t Engine::state_bytes() const { return 0; }
int64_t Engine::max_running() const { return 16; }
int64_t Engine::max_queued() const { return 256; }

}  // namespace skald
