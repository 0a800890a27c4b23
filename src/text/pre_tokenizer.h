/// PreTokenizer: cuts text into the pieces that byte-level BPE merges within.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"
#include "text/pace.h"
#include "text/pre_tokenizer_rules.h"

namespace skald::text {

/// What the name in tokenizer.ggml.pre stands for (pre_tokenizer_rules.h). The patterns are those
/// published with each model (tokenizer.json), or llama.cpp's where the model has none; letters and
/// digits are those of Unicode 14, the version PCRE2 knows.
///
/// A pre-tokenizer is one stage or several in a row: each cuts the pieces of the one before into
/// the matches of its pattern and what lies between them. Immutable; thread-safe (matching state is
/// per call).
class PreTokenizer {
 public:
  /// Compiles the patterns of `rule`. Errors: kUnsupported for a pattern that PCRE2 refuses, or
  /// would read differently, which a rule of the list makes a bug.
  static Result<PreTokenizer> Create(const PreTokenizerRule& rule);

  ~PreTokenizer();
  PreTokenizer(PreTokenizer&& other) noexcept;
  PreTokenizer& operator=(PreTokenizer&& other) noexcept;

  /// The pieces of `text`, in order, none empty: views into `text` that together are all of it.
  /// Ill-formed UTF-8 is taken out first, each ill-formed sequence a piece of its own; the text
  /// between is cut as if nothing stood around it. Near-linear for the patterns here. Errors:
  /// kResourceExhausted if the pattern matcher gives up, which the limits make a bug; kCancelled if
  /// `pace` ended it.
  Result<std::vector<std::string_view>> Split(std::string_view text, Pace& pace) const;

 private:
  class Stage;
  struct Matching;
  PreTokenizer();
  Status SplitWellFormed(std::string_view text, const Matching& matching,
                         std::vector<std::string_view>* pieces) const;

  std::vector<Stage> stages_;
};

/// Rewrites a published pattern for PCRE2: \s and \S, which PCRE2 lets match U+180E, become the 25
/// characters of Unicode's White_Space. Errors: kUnsupported for what PCRE2 would silently read
/// differently: class intersections ("&&"), \S inside a class, and a script (\p{Han}) without
/// "sc:". Exposed for tests.
Result<std::string> PatternForPcre2(std::string_view published);

}  // namespace skald::text
