/// AnswerSections: the seam between ChatAnswerReader and the two shapes of an answer: text with
/// markers in it, and OpenAI's Harmony, in which everything has a header.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer/call_reader.h"
#include "chat/answer/forms.h"
#include "chat/answer/piece_writer.h"
#include "chat/answer/symbols.h"
#include "skald/chat_answer.h"

namespace skald::chat {

/// Gets the symbols of an answer and tells its pieces to a PieceWriter.
class AnswerSections {
 public:
  virtual ~AnswerSections() = default;
  virtual void Push(Symbol symbol) = 0;
  virtual void Finish(AnswerEnd end) = 0;
};

/// A row of the table, with the marks of one vocabulary.
class SpelledForm {
 public:
  SpelledForm(const AnswerForm& form, const ReasoningForm& reasoning,
              std::vector<std::string> marks);

  const AnswerForm& form() const { return *form_; }
  const ReasoningForm& reasoning() const { return *reasoning_; }
  /// `text`, with each name of a mark in it as that mark.
  Symbols Spell(std::string_view text) const;
  /// Those that are not empty.
  std::vector<Symbols> SpellAll(std::span<const std::string_view> texts) const;

 private:
  const AnswerForm* form_;
  const ReasoningForm* reasoning_;
  std::vector<std::string> marks_;  // names, by number
};

/// What the two shapes are given. References outlive them.
struct SectionsContext {
  const SpelledForm& form;
  const ToolSet& tools;
  const ChatAnswerOptions& options;
  PieceWriter& out;
};

std::unique_ptr<AnswerSections> ReadMarkedAnswer(const SectionsContext& context);
std::unique_ptr<AnswerSections> ReadHarmonyAnswer(const SectionsContext& context);
/// Of all of its control tokens.
std::span<const std::string_view> HarmonyMarkerNames();

/// What opened a call; the reader of what follows.
enum class CallOpener : uint8_t { kSection, kCall, kBareObject };
std::unique_ptr<CallReader> MakeCallReader(const SectionsContext& context, CallOpener opener);

}  // namespace skald::chat
