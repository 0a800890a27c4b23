// A conversation: chat MODEL.gguf, a message a line.
//
// Of each turn only what is new is computed: the engine keeps the K and V of the turns before, and
// finds them by their tokens.

#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include "skald/chat_template.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/text_sink.h"
#include "skald/transcript.h"

namespace {

// A string of JSON; a program with a JSON library uses that.
std::string Quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (c == '\n') {
      json += "\\n";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      json += c;
    }
  }
  return json + '"';
}

std::string Message(std::string_view role, std::string_view content) {
  return "{\"role\": " + Quoted(role) + ", \"content\": " + Quoted(content) + "}";
}

int Fail(const skald::Status& status) {
  std::cerr << status.message() << '\n';
  return 1;
}

// Prints the answer as it comes; all of it is `*answer` then.
skald::Status Answer(skald::Engine& engine, const skald::Tokenizer& tokenizer,
                     skald::Request request, std::string* answer) {
  auto sink = skald::TextSink::Create(tokenizer, request, {});
  if (!sink.ok()) return sink.status();
  skald::Transcript transcript(request);
  const auto id = engine.Submit(std::move(request), *sink);
  if (!id.ok()) return id.status();
  while (!transcript.end) {
    const skald::TextEvent next = (*sink)->Next();
    transcript.Add(next);
    std::cout << next.text << std::flush;
  }
  *answer = transcript.best().text;
  return transcript.end->status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: chat MODEL.gguf\n";
    return 2;
  }
  const skald::Result<skald::Model> model = skald::LoadModel({.path = argv[1]});
  if (!model.ok()) return Fail(model.status());
  if (!model->chat_template().ok()) return Fail(model->chat_template().status());
  skald::Result<skald::Engine> engine = skald::Engine::Create(*model, {});
  if (!engine.ok()) return Fail(engine.status());
  std::string messages;
  std::string line;
  while (std::cout << "> " << std::flush && std::getline(std::cin, line)) {
    if (!messages.empty()) messages += ", ";
    messages += Message("user", line);
    const std::string variables =
        "{\"messages\": [" + messages + "], \"add_generation_prompt\": true}";
    // What strftime_now tells a template that asks for the date.
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto prompt =
        skald::MakeChatPromptFromJson(*model->chat_template(), model->tokenizer(), variables,
                                      std::chrono::local_seconds(now.time_since_epoch()));
    if (!prompt.ok()) return Fail(prompt.status());
    std::string answer;
    const skald::Status status = Answer(
        *engine, model->tokenizer(),
        {.prompt = prompt->tokens, .sampling = {.seed = 7}, .stop = {.max_tokens = 100}}, &answer);
    if (!status.ok()) return Fail(status);
    std::cout << '\n';
    messages += ", " + Message("assistant", answer);
  }
  std::cout << '\n';
}
