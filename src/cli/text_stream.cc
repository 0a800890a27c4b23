#include "cli/text_stream.h"

#include <utility>

namespace skald::cli {

TextStream::TextStream(StreamDecoder decoder, StopMatcher matcher)
    : decoder_(std::move(decoder)), matcher_(std::move(matcher)) {}

std::string TextStream::Push(TokenId token) { return Match(decoder_.Push(token)); }

std::string TextStream::Finish() {
  std::string text = Match(decoder_.Flush());
  if (stop_index_ < 0) text += matcher_.Flush();
  return text;
}

std::string TextStream::Match(const std::string& piece) {
  StopMatcher::Output output = matcher_.Push(piece);
  stop_index_ = output.stop_index;
  return std::move(output.text);
}

}  // namespace skald::cli
