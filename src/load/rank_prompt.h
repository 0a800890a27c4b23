/// RankPrompt: how a model that ranks reads a pair of texts, a question and what may answer it.
#pragma once

#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/tokenizer.h"

namespace skald::load {

/// Of one model. Default: the marks of its tokenizer.
class RankPrompt {
 public:
  /// The template of a file, tokenizer.chat_template.rerank, if it has one. Errors: kBadModel where
  /// "{query}" or "{document}" does not stand in it exactly once, or it is longer than 64 KiB.
  static Result<RankPrompt> Read(const formats::Metadata& metadata);

  /// The tokens of a pair. What stands in the texts is text: the marks of the template are its own.
  /// Errors: kInvalidArgument for an empty text; as Tokenizer::Encode.
  Result<PairTokens> Encode(const Tokenizer& tokenizer, std::string_view query,
                            std::string_view document, StopCheck stop) const;

 private:
  // Before the first text, between the two, behind the second; empty without a template.
  std::string before_, between_, behind_;
  bool has_template_ = false;
  bool document_first_ = false;
};

}  // namespace skald::load
