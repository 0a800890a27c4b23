/// ChatSession: a conversation at the terminal, turn by turn.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/chat_command.h"
#include "cli/console.h"
#include "cli/conversation.h"
#include "cli/line_editor.h"
#include "cli/word_wrap.h"
#include "skald/chat_template.h"
#include "skald/constraint.h"
#include "skald/engine.h"
#include "skald/model.h"

namespace skald::cli {

/// Reads messages and commands, asks the engine, shows answers. Each turn sends the whole
/// conversation; what the engine has computed before it finds in its prefix tree, so a turn
/// computes only what is new. When the context is full the oldest turns are no longer sent. All
/// references outlive the session.
class ChatSession {
 public:
  ChatSession(const Model& model, const ChatTemplate& chat, Engine& engine,
              const ChatOptions& options, Console& console);

  /// How answers are shown; at first as they come.
  void SetWrap(Wrap wrap) { wrap_ = wrap; }
  /// What each answer is kept to; at first nothing.
  void SetConstraint(const std::optional<Constraint>& constraint) { constraint_ = constraint; }

  /// Until /bye or the end of the input. Errors: as Chat.
  Status Run(LineEditor& editor);

 private:
  struct Answer;

  Status Handle(const std::string& message);
  Status Command(std::string_view line);
  Status Ask(const std::string& message);
  Result<ChatPrompt> MakePrompt();
  Result<ChatPrompt> Render(size_t first) const;
  Result<Answer> Generate(const ChatPrompt& prompt);
  Status Show(const std::string& text, WordWrap* wrap);
  Status Report(const Answer& answer);
  Status Show();
  Status Save(const std::string& path) const;
  Status Load(const std::string& path);

  const Model& model_;
  const ChatTemplate& chat_;
  Engine& engine_;
  Console& console_;
  const OutputForm form_;
  Wrap wrap_ = Wrap::kNone;
  ChatSettings settings_;
  std::optional<Constraint> constraint_;
  Conversation conversation_;
  size_t first_sent_ = 0;  // messages before it no longer fit
  bool leaving_ = false;
};

}  // namespace skald::cli
