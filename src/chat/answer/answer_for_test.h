/// What tests and fuzzers of answers share: formats without model files, and answers put together.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "chat/answer/forms.h"
#include "skald/chat_answer.h"
#include "skald/constraint.h"
#include "text/test_vocabs.h"

namespace skald::chat {

/// Markers that are control tokens in published models.
inline constexpr std::string_view kControlNames[] = {
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "[THINK]",
    "[/THINK]",
    "<\uFF5Ctool\u2581calls\u2581begin\uFF5C>",
    "<\uFF5Ctool\u2581calls\u2581end\uFF5C>",
    "<\uFF5Ctool\u2581call\u2581begin\uFF5C>",
    "<\uFF5Ctool\u2581call\u2581end\uFF5C>",
    "<\uFF5Ctool\u2581sep\uFF5C>",
    "\uFF5CDSML\uFF5C",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_call_start|>",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|\"|>",
    "<|channel>",
    "<channel|>",
    "<|start|>",
    "<|message|>",
    "<|channel|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|constrain|>",
};

/// Whether the vocabulary has kControlNames, or spells all markers as text.
enum class Spelling : uint8_t { kText, kControl };

/// A format, with what it takes to write answers in it.
struct TestFormat {
  ChatAnswerFormat format;
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> marks;  // names and bytes

  /// `output` as a decoder gives it: control tokens as marks.
  std::string Decoded(std::string_view output) const {
    std::string text;
    while (!output.empty()) {
      size_t taken = 1;
      std::string bytes(output.substr(0, 1));
      for (const auto& [name, mark] : marks) {
        if (!output.starts_with(name)) continue;
        taken = name.size();
        bytes = mark;
        break;
      }
      text += bytes;
      output.remove_prefix(taken);
    }
    return text;
  }
};

/// The row `name` of the table, with the reasoning between `reasoning` and its end ("": none).
inline TestFormat MakeFormat(std::string_view name, std::string_view reasoning, Spelling spelling) {
  std::string source;
  for (const AnswerForm& form : AnswerForms()) {
    if (form.name != name) continue;
    for (const std::string_view needle : form.needles) source += std::string(needle) + "\n";
  }
  for (const ReasoningForm& form : ReasoningForms())
    if (form.open == reasoning) source += std::string(form.open) + " " + std::string(form.close);
  text::OwnedSpec vocab = text::SmallByteLevel("gpt-2");
  if (spelling == Spelling::kControl)
    for (const std::string_view control : kControlNames) vocab.Add(std::string(control), 3);
  vocab.fields.scores.clear();
  const Result<Tokenizer> tokenizer = Tokenizer::Create(vocab.spec());
  CHECK(tokenizer.ok());
  const Result<ChatTemplate> chat = ChatTemplate::Create(source, {});
  CHECK(chat.ok());
  TestFormat made = {.format = ChatAnswerFormat::Of(*chat, *tokenizer),
                     .vocabulary = Vocabulary::FromTokenizer(*tokenizer),
                     .marks = {}};
  CHECK(made.format.name() == name);
  for (const TokenMark& mark : made.format.marks())
    made.marks.emplace_back(tokenizer->TokenBytes(mark.token), mark.bytes);
  return made;
}

/// All pieces of an answer, joined.
struct Message {
  struct Call {
    std::string id = {};
    std::string name = {};
    std::string arguments = {};
    friend bool operator==(const Call&, const Call&) = default;
  };
  std::string text = {};
  std::string reasoning = {};
  std::vector<Call> calls = {};

  void Add(const std::vector<ChatPiece>& pieces) {
    for (const ChatPiece& piece : pieces) {
      switch (piece.kind) {
        case ChatPiece::Kind::kText: text += piece.text; break;
        case ChatPiece::Kind::kReasoning: reasoning += piece.text; break;
        case ChatPiece::Kind::kCall:
          CHECK(piece.call_index == static_cast<int32_t>(calls.size()));
          calls.push_back({.id = piece.id, .name = piece.text});
          break;
        case ChatPiece::Kind::kArguments:
          CHECK(piece.call_index + 1 == static_cast<int32_t>(calls.size()));
          calls.back().arguments += piece.text;
          break;
      }
    }
  }
  friend bool operator==(const Message&, const Message&) = default;
};

/// Reads `decoded`, cut before each of `cuts` (ascending).
inline Message ReadAnswer(const ChatAnswerFormat& format, const ChatAnswerOptions& options,
                          std::string_view decoded, const std::vector<size_t>& cuts,
                          AnswerEnd end) {
  ChatAnswerReader reader(format, options);
  Message message;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    message.Add(reader.Push(decoded.substr(begin, cut - begin)));
    begin = cut;
  }
  message.Add(reader.Push(decoded.substr(begin)));
  message.Add(reader.Finish(end));
  return message;
}

}  // namespace skald::chat
