/// PieceWriter: puts the pieces of an answer together: joins what belongs together, numbers the
/// calls, names them, and drops what comes behind the only call that was wanted.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer/symbols.h"
#include "skald/chat_answer.h"

namespace skald::chat {

/// Ids: "call_" and 24 letters and digits, or nine.
enum class IdForm : uint8_t { kLong, kShort };

/// See above.
class PieceWriter {
 public:
  struct Options {
    IdForm ids = IdForm::kLong;
    uint64_t id_seed = 0;
    bool one_call = false;
  };
  explicit PieceWriter(Options options) : options_(options) {}

  void Text(std::string_view bytes) { Add(ChatPiece::Kind::kText, bytes); }
  void Reasoning(std::string_view bytes) { Add(ChatPiece::Kind::kReasoning, bytes); }

  /// A call of the tool `name` begins. `id`: the model's own, or empty; one that is no word or has
  /// been there is replaced.
  void BeginCall(std::string_view name, std::string_view id);
  void Arguments(std::string_view json) { Add(ChatPiece::Kind::kArguments, json); }
  void EndCall();

  /// Whether a call has begun and not ended.
  bool in_call() const { return in_call_; }
  int32_t call_count() const { return call_count_; }
  std::vector<ChatPiece> Take() { return std::exchange(pieces_, {}); }

 private:
  void Add(ChatPiece::Kind kind, std::string_view bytes);
  std::string DrawnId() const;

  Options options_;
  std::vector<ChatPiece> pieces_;
  std::set<std::string, std::less<>> ids_;
  int32_t call_count_ = 0;
  bool in_call_ = false;
  bool closed_ = false;  // one_call, and it has come
};

}  // namespace skald::chat
