/// TextEncoder: how text becomes tokens. One implementation for each kind of tokenizer.
#pragma once

#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "text/merge.h"

namespace skald::text {

/// Encodes the text between special tokens. Immutable; thread-safe.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  /// Appends the tokens of `text`, which is not empty and may be any bytes: a whole text, or the
  /// part of one up to a special token or behind one. Errors: kCancelled if the scratch's pace
  /// ended it; kResourceExhausted for what an implementation bounds.
  virtual Status Encode(std::string_view text, MergeScratch* scratch,
                        std::vector<TokenId>* out) const = 0;

  /// True if it is known that ordinary text can become `id`.
  virtual bool Forms(TokenId id) const = 0;
};

}  // namespace skald::text
