/// CallReader: the seam between the reader of an answer and the syntaxes of calls.
///
/// A reader gets the symbols behind an opening marker, one by one. It tells the calls it finds to
/// the PieceWriter as soon as it is sure: the name is a tool's and its arguments have begun.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer/piece_writer.h"
#include "chat/answer/symbols.h"
#include "skald/chat_answer.h"

namespace skald::chat {

/// What a symbol did to a call.
enum class CallStep : uint8_t {
  kMore,     ///< goes on: what has come since the last kSettled may still be text
  kSettled,  ///< goes on, and what has come so far was part of a call
  kDone,     ///< the symbol was the last one of the calls
  kNoCall,   ///< the symbol was the last one of a head that says: text follows
  kFail,     ///< the symbol does not fit, and is not taken
};

/// One row of calls. Not thread-safe.
class CallReader {
 public:
  virtual ~CallReader() = default;
  virtual CallStep Push(Symbol symbol) = 0;
  /// No more symbols come. Ends a call that has begun.
  virtual void Finish() = 0;
  /// Behind kFail: the last symbols taken, which may be the beginning of another marker.
  virtual const Symbols& unread() const = 0;
  /// Whether all calls are complete, and only a closing marker is missing.
  virtual bool is_closing() const = 0;
};

/// The tools, as readers ask for them.
class ToolSet {
 public:
  explicit ToolSet(std::shared_ptr<const std::vector<ChatTool>> tools);

  bool empty() const { return tools_->empty(); }
  const std::vector<ChatTool>& all() const { return *tools_; }
  /// nullptr if there is none of that name. O(number of tools).
  const ChatTool* Find(std::string_view name) const;

 private:
  std::shared_ptr<const std::vector<ChatTool>> tools_;
};

/// What all readers are given. References outlive them.
struct CallContext {
  const ToolSet& tools;
  PieceWriter& out;
};

}  // namespace skald::chat
