/// TextStream: generated tokens in, text that may be shown out.
#pragma once

#include <string>

#include "skald/ids.h"
#include "skald/tokenizer.h"

namespace skald::cli {

/// A StreamDecoder and a StopMatcher in a row: whole characters only, and nothing of a stop string.
/// The tokenizer behind the decoder must outlive it.
class TextStream {
 public:
  TextStream(StreamDecoder decoder, StopMatcher matcher);

  /// The text that `token` makes certain. May be empty.
  std::string Push(TokenId token);
  /// What was held back, once no more tokens come. Empty after a stop string.
  std::string Finish();
  /// The index of the stop string that ended the text, or -1.
  int stop_index() const { return stop_index_; }

 private:
  std::string Match(const std::string& piece);

  StreamDecoder decoder_;
  StopMatcher matcher_;
  int stop_index_ = -1;
};

}  // namespace skald::cli
