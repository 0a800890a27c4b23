#include "chat/answer/piece_writer.h"

#include <algorithm>
#include <array>

#include "base/rng.h"

namespace skald::chat {

namespace {

constexpr std::string_view kLetters =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kLongId = 24;
constexpr size_t kShortId = 9;
// An id of a model goes back to it in the next turn: a word, no longer than anyone's.
constexpr size_t kMaxIdBytes = 128;

bool IsWord(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

void PieceWriter::Add(ChatPiece::Kind kind, std::string_view bytes) {
  if (bytes.empty() || closed_) return;
  const int32_t call = kind == ChatPiece::Kind::kArguments ? call_count_ - 1 : 0;
  if (pieces_.empty() || pieces_.back().kind != kind || pieces_.back().call_index != call)
    pieces_.push_back({.kind = kind, .text = {}, .call_index = call});
  pieces_.back().text += bytes;
}

// A number for each letter: the rest of 32 bits by 62 is even enough for a name.
std::string PieceWriter::DrawnId() const {
  const size_t length = options_.ids == IdForm::kShort ? kShortId : kLongId;
  std::string id = options_.ids == IdForm::kShort ? "" : "call_";
  std::array<uint32_t, 4> drawn = {};
  for (size_t i = 0; i < length; ++i) {
    if (i % 4 == 0) {
      drawn = Philox4x32(
          {static_cast<uint32_t>(call_count_), static_cast<uint32_t>(i), 0, 0},
          {static_cast<uint32_t>(options_.id_seed), static_cast<uint32_t>(options_.id_seed >> 32)});
    }
    id += kLetters[drawn[i % 4] % kLetters.size()];
  }
  return id;
}

void PieceWriter::BeginCall(std::string_view name, std::string_view id) {
  in_call_ = true;
  if (closed_) return;
  std::string chosen(id);
  if (!IsWord(chosen) || ids_.contains(chosen)) chosen = DrawnId();
  ids_.insert(chosen);
  pieces_.push_back({.kind = ChatPiece::Kind::kCall,
                     .text = std::string(name),
                     .call_index = call_count_,
                     .id = std::move(chosen)});
  ++call_count_;
}

void PieceWriter::EndCall() {
  in_call_ = false;
  closed_ = closed_ || (options_.one_call && call_count_ > 0);
}

}  // namespace skald::chat
