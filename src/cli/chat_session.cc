#include "cli/chat_session.h"

#include <fmt/format.h>
#include <time.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/event_reader.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/suggest.h"
#include "cli/utf8.h"
#include "skald/text_sink.h"
#include "skald/transcript.h"

namespace skald::cli {

namespace {

constexpr const char* kHelp = R"(/help                this list
/clear               forget the conversation
/system TEXT         what the model is told first; without TEXT: nothing
/set NAME VALUE      change a flag of the command: temp, top-k, seed, n, think, ...
/show                the settings, and how much of the context is in use
/save FILE           write the conversation to FILE, as JSON
/load FILE           go on with a saved one
/bye                 leave (also Ctrl-D)
""" ... """          a message of several lines; so does a \ at the end of a line
Ctrl-C               stops an answer
)";
const std::vector<std::string> kCommands = {"/help", "/clear", "/system", "/set",  "/show",
                                            "/save", "/load",  "/bye",    "/exit", "/quit"};

// Room that is left for an answer before turns are dropped: a fifth of the context.
constexpr int64_t kAnswerShare = 5;

// What the clock on the wall says, for templates that tell the model the date.
std::chrono::local_seconds LocalNow() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const time_t seconds = std::chrono::system_clock::to_time_t(now);
  tm local{};
  localtime_r(&seconds, &local);
  return std::chrono::local_seconds(now.time_since_epoch() + std::chrono::seconds(local.tm_gmtoff));
}

uint64_t DrawSeed() {
  std::random_device device;
  return device();
}

// "word rest" to its two halves.
std::pair<std::string, std::string> FirstWord(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return {std::string(text), ""};
  const size_t rest = text.find_first_not_of(' ', space);
  return {std::string(text.substr(0, space)),
          std::string(rest == std::string_view::npos ? "" : text.substr(rest))};
}

}  // namespace

// One answer of the model.
struct ChatSession::Answer {
  Transcript transcript;
  uint64_t seed = 0;

  const std::string& text() const { return transcript.best().text; }
  FinishReason reason() const { return transcript.end->reason; }
  int64_t tokens() const { return transcript.output_tokens; }
  double TokensPerSecond() const {
    const double seconds = transcript.decode_seconds();
    return tokens() > 1 && seconds > 0 ? static_cast<double>(tokens() - 1) / seconds : 0;
  }
};

ChatSession::ChatSession(const Model& model, const ChatTemplate& chat, Engine& engine,
                         const ChatOptions& options, Console& console)
    : model_(model),
      chat_(chat),
      engine_(engine),
      console_(console),
      form_(options.output.form),
      settings_(options.settings) {
  conversation_.system = options.system;
}

Status ChatSession::Run(LineEditor& editor) {
  const bool interactive = console_.terminals().input && console_.terminals().output;
  MessageReader reader;
  std::string line;
  while (!leaving_) {
    // At a terminal from here on, not only while the answer comes: a Ctrl-C between Enter and the
    // first word stops the answer too, and never the program.
    std::optional<InterruptScope> interrupt;
    if (interactive) interrupt.emplace();
    const LineEnd end = editor.Read(reader.pending() ? "... " : ">>> ", &line);
    if (end == LineEnd::kError)
      return Status(ErrorCode::kIo, "stdin: " + std::generic_category().message(errno));
    if (!interactive) interrupt.emplace();
    if (end == LineEnd::kEndOfInput) break;
    if (end == LineEnd::kInterrupted) {
      reader.Reset();
      console_.Note("Ctrl-D or /bye leaves");
      continue;
    }
    if (!reader.Add(line)) continue;
    Status status = Handle(reader.text());
    // Nobody is there to type the next line.
    if (status.ok() && !interactive && InterruptScope::Requested())
      return Status(ErrorCode::kCancelled, "interrupted");
    // In a conversation a person goes on after an error; a script must hear of it.
    if (status.ok()) continue;
    if (!interactive || status.code() == ErrorCode::kIo) return status;
    console_.Error(status.message());
  }
  if (reader.pending())
    return Status(ErrorCode::kInvalidArgument,
                  "the input ends inside of a message: \"\"\" or \\ is open");
  return Ok();
}

Status ChatSession::Handle(const std::string& message) {
  if (message.find_first_not_of(" \t\n") == std::string::npos) return Ok();
  if (message.starts_with('/') && message.find('\n') == std::string::npos) return Command(message);
  return Ask(message);
}

Status ChatSession::Command(std::string_view line) {
  const auto [name, rest] = FirstWord(line);
  const auto need = [&, &rest = rest, &name = name](const char* what) {
    return rest.empty()
               ? Status(ErrorCode::kInvalidArgument, fmt::format("{} needs {}", name, what))
               : Ok();
  };
  if (name == "/help") return console_.Write(kHelp);
  if (name == "/show") return Show();
  if (name == "/bye" || name == "/exit" || name == "/quit") {
    leaving_ = true;
    return Ok();
  }
  if (name == "/clear") {
    conversation_.messages.clear();
    first_sent_ = 0;
    return Ok();
  }
  if (name == "/system") {
    conversation_.system = rest;
    return Ok();
  }
  if (name == "/set") {
    RETURN_IF_ERROR(need("a name and a value"));
    const auto [setting, value] = FirstWord(rest);
    return ChangeSetting(setting, value, &settings_);
  }
  if (name == "/save") {
    RETURN_IF_ERROR(need("the name of a file"));
    return Save(rest);
  }
  if (name == "/load") {
    RETURN_IF_ERROR(need("the name of a file"));
    return Load(rest);
  }
  const std::string nearest = Nearest(name, kCommands);
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("there is no command {}{}", name,
                            nearest.empty() ? "; /help lists them"
                                            : fmt::format("; did you mean {}?", nearest)));
}

Status ChatSession::Ask(const std::string& message) {
  conversation_.messages.push_back({Speaker::kUser, message});
  Result<ChatPrompt> prompt = MakePrompt();
  if (!prompt.ok()) {
    conversation_.messages.pop_back();
    return std::move(prompt).status();
  }
  Result<Answer> answer = Generate(*prompt);
  if (!answer.ok()) {
    conversation_.messages.pop_back();
    return std::move(answer).status();
  }
  if (answer->reason() == FinishReason::kCancelled && answer->tokens() == 0) {
    conversation_.messages.pop_back();
    console_.Note("stopped before the first word; the message is taken back");
    return Ok();
  }
  // Also an answer that was stopped: the model must know what it said.
  conversation_.messages.push_back({Speaker::kAssistant, answer->text()});
  return Report(*answer);
}

Result<ChatPrompt> ChatSession::Render(size_t first) const {
  boost::json::array messages;
  if (!conversation_.system.empty())
    messages.push_back(boost::json::object{{"role", "system"}, {"content", conversation_.system}});
  for (size_t i = first; i < conversation_.messages.size(); ++i) {
    const Message& message = conversation_.messages[i];
    messages.push_back(
        boost::json::object{{"role", message.speaker == Speaker::kUser ? "user" : "assistant"},
                            {"content", message.text}});
  }
  boost::json::object variables{{"messages", std::move(messages)}, {"add_generation_prompt", true}};
  if (settings_.thinking != Thinking::kAsModel)
    variables["enable_thinking"] = settings_.thinking == Thinking::kOn;
  return MakeChatPrompt(chat_, model_.tokenizer(), variables, LocalNow());
}

// The prompt of the conversation, without as many of its oldest turns as do not fit.
Result<ChatPrompt> ChatSession::MakePrompt() {
  const int64_t room = engine_.context() - engine_.context() / kAnswerShare;
  const size_t first_before = first_sent_;
  while (true) {
    ASSIGN_OR_RETURN(ChatPrompt prompt, Render(first_sent_));
    const auto tokens = static_cast<int64_t>(prompt.tokens.size());
    const size_t next = NextTurn(conversation_.messages, first_sent_);
    if (tokens <= room || (next == first_sent_ && tokens < engine_.context())) {
      if (first_sent_ != first_before) {
        console_.Note(
            fmt::format("the context of {} tokens is full: the oldest {} messages are no "
                        "longer sent (a larger -c holds more)",
                        engine_.context(), first_sent_));
      }
      return prompt;
    }
    if (next == first_sent_) {
      return Status(ErrorCode::kResourceExhausted,
                    fmt::format("the message does not fit: {} tokens with the system text, the "
                                "context has {}; shorten it or start with a larger -c",
                                tokens, engine_.context()));
    }
    first_sent_ = next;
  }
}

Result<ChatSession::Answer> ChatSession::Generate(const ChatPrompt& prompt) {
  ASSIGN_OR_RETURN(SamplingParams sampling, SamplingFor(settings_.sampling, model_.tokenizer()));
  Request request{.prompt = prompt.tokens, .sampling = std::move(sampling), .stop = {}};
  request.sampling.seed =
      settings_.sampling.seed.has_value() ? *settings_.sampling.seed : DrawSeed();
  request.stop.max_tokens = settings_.stop.max_tokens;
  request.stop.ignore_eos = settings_.stop.ignore_eos;
  request.constraint = constraint_;
  EventReader events(engine_, console_);
  ASSIGN_OR_RETURN(
      const std::shared_ptr<TextSink> sink,
      TextSink::Create(model_.tokenizer(), request,
                       {.stop_strings = settings_.stop.stop, .on_ready = events.on_ready()}));
  RETURN_IF_ERROR(events.Submit(request, sink));
  Answer answer = {.transcript = Transcript(request, {.tokens = false, .logprobs = false}),
                   .seed = request.sampling.seed};
  WordWrap wrap;
  Status written;
  while (!answer.transcript.end) {
    const TextEvent next = events.Next();
    answer.transcript.Add(next);
    if (written.ok() && form_ == OutputForm::kText && !next.text.empty())
      written = Show(next.text, &wrap);
    if (!written.ok()) events.Cancel();
  }
  RETURN_IF_ERROR(std::move(written));
  RETURN_IF_ERROR(answer.transcript.end->status);
  return answer;
}

Status ChatSession::Show(const std::string& text, WordWrap* wrap) {
  if (wrap_ == Wrap::kNone) return console_.WriteText(text);
  return console_.Write(wrap->Add(TerminalText(text), TerminalColumns()));
}

Status ChatSession::Report(const Answer& answer) {
  if (form_ == OutputForm::kJson) {
    JsonWriter json;
    json.BeginObject().Key("role").String("assistant").Key("content").String(answer.text());
    json.Key("finish_reason").String(FinishReasonName(answer.reason()));
    json.Key("seed").Uint(answer.seed);
    json.Key("usage").BeginObject();
    json.Key("prompt_tokens")
        .Int(answer.transcript.prompt_tokens)
        .Key("cached_tokens")
        .Int(answer.transcript.cached_tokens);
    json.Key("completion_tokens").Int(answer.tokens());
    json.EndObject();
    json.Key("timings").BeginObject();
    json.Key("prefill_seconds").Double(answer.transcript.prefill_seconds());
    json.Key("decode_tokens_per_second").Double(answer.TokensPerSecond());
    json.EndObject();
    json.EndObject();
    RETURN_IF_ERROR(console_.Write(json.Take() + '\n'));
  } else {
    RETURN_IF_ERROR(console_.Write("\n"));
  }
  console_.Note(
      fmt::format("prompt {} tokens, {} from cache; answer {} tokens, {:.1f} tokens/s{}",
                  answer.transcript.prompt_tokens, answer.transcript.cached_tokens, answer.tokens(),
                  answer.TokensPerSecond(),
                  answer.reason() == FinishReason::kStop
                      ? ""
                      : fmt::format("; ended by: {}", FinishReasonName(answer.reason()))));
  return Ok();
}

Status ChatSession::Show() {
  const SamplingParams& params = settings_.sampling.params;
  std::string text = fmt::format(
      "model       {}\ncontext     {} tokens\nmessages    {}, sent from {}\n", model_.info().name,
      engine_.context(), conversation_.messages.size(), first_sent_ + 1);
  text +=
      fmt::format("system      {}\n", conversation_.system.empty() ? "none" : conversation_.system);
  text += fmt::format("temp        {}\ntop-k       {}\ntop-p       {}\nmin-p       {}\n",
                      params.temperature, params.truncation.top_k, params.truncation.top_p,
                      params.truncation.min_p);
  text += fmt::format("seed        {}\n", settings_.sampling.seed.has_value()
                                              ? std::to_string(*settings_.sampling.seed)
                                              : "drawn anew for each answer");
  constexpr std::array<const char*, 3> kThink = {"auto", "on", "off"};
  text += fmt::format("think       {}\n", kThink[static_cast<size_t>(settings_.thinking)]);
  return console_.WriteText(text);
}

Status ChatSession::Save(const std::string& path) const {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  RETURN_IF_ERROR(file.Write(ConversationJson(conversation_)));
  return file.Commit();
}

Status ChatSession::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string json, ReadInput(path));
  Result<Conversation> loaded = ParseConversation(json);
  if (!loaded.ok()) return std::move(loaded).status().WithContext(path);
  conversation_ = *std::move(loaded);
  first_sent_ = 0;
  console_.Note(fmt::format("{} messages", conversation_.messages.size()));
  return Ok();
}

}  // namespace skald::cli
