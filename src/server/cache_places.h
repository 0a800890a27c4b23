/// Where in a prompt the first messages of its conversation end. Models with recurrent layers keep
/// a snapshot there (Request::places); all others keep every prefix anyway.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/chat_template.h"
#include "skald/stop_check.h"

namespace skald::server {

/// A conversation that was rendered, and what with.
struct RenderedChat {
  const ChatTemplate& chat;
  const Tokenizer& tokenizer;
  const boost::json::object& variables;
  const ChatPrompt& prompt;
  std::chrono::local_seconds now;
};

/// Numbers of leading messages whose ends are worth a place, ascending: those of `marked`, and that
/// of the system's, which other conversations have, too. Not all of them: what ends with the prompt
/// is kept anyway.
std::vector<size_t> MarkedFronts(const boost::json::array& messages, std::vector<size_t> marked);

/// How many leading tokens of the prompt stand for so many `messages` of the conversation, each of
/// the list ascending and less than all: where the conversation with these alone parts from it, or
/// a few tokens before, so that no token reaches over the place. Without those that the template
/// cannot tell alone. Of more than eight the first and the last seven count. Cost: two renderings
/// each at most; whatever `stop` ends has no place.
std::vector<int64_t> PlacesOf(const RenderedChat& rendered, std::span<const size_t> messages,
                              StopCheck stop);

}  // namespace skald::server
