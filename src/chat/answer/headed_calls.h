/// Calls with a head: the name of the tool between markers, then its arguments as JSON.
///
/// Mistral, DeepSeek, Kimi K2, Functionary, Solar: name, perhaps an id, JSON, perhaps closers.
#pragma once

#include <memory>
#include <vector>

#include "chat/answer/call_reader.h"

namespace skald::chat {

/// Which words stand where. Empty ones are not there.
struct HeadedCallForm {
  Symbols call_open = {};             ///< before each call of a section
  Symbols prefix = {};                ///< of a name, which may lack it
  Symbols name_end = {};              ///< behind the name: arguments follow
  Symbols name_end_before_id = {};    ///< behind the name: an id follows, then name_end
  Symbols head_end = {};              ///< behind name_end and a number: all before it is the id
  Symbols text_head = {};             ///< in the place of a name: text follows, no call
  std::vector<Symbols> closers = {};  ///< behind the arguments; one of them
  Symbols section_close = {};         ///< behind the last call; calls may follow one another if set
};

/// `in_section`: what has been read opens a section, not a call.
struct HeadedCallStart {
  bool in_section = false;
};

std::unique_ptr<CallReader> ReadHeadedCalls(HeadedCallForm form, HeadedCallStart start,
                                            CallContext context);

}  // namespace skald::chat
