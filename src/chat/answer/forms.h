/// The table of formats: which markers a chat template teaches its model, and how calls are read
/// behind them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace skald::chat {

/// Which reader reads the calls.
enum class CallSyntax : uint8_t {
  kNone,     ///< reasoning only
  kJson,     ///< json_calls.h
  kHeaded,   ///< headed_calls.h
  kFields,   ///< field_calls.h
  kPython,   ///< python_calls.h
  kGemma,    ///< gemma_calls.h
  kHarmony,  ///< harmony_answer.h: the whole answer
};

/// Markers that begin and end the reasoning; empty if there is none.
struct ReasoningForm {
  std::string_view open = {};
  std::string_view close = {};
};

/// How a model is taught to write its calls, for the grammar that holds it to them. In patterns
/// "$n" is the name of the tool, "$a" its arguments, "$d" a number, "$i" an id of nine letters or
/// digits, "$l" a newline or nothing, and "~" white space as JSON has it.
struct WrittenCalls {
  std::string_view call = {};
  std::string_view other_call = {};  ///< another way to write one
  std::string_view bare_call = {};   ///< with bare_object and starts_in_head: where a text begins
  std::string_view open = {};        ///< before the first call
  std::string_view between = {};     ///< two calls
  std::string_view close = {};       ///< behind the last call
  bool is_single = false;            ///< an answer has one call at most
  bool may_join = false;             ///< kFields: newlines between markers may be left out
};

/// One row: all texts as the model writes them; white space between them does not count. What a
/// syntax does with its texts stands in its header.
struct AnswerForm {
  std::string_view name;
  /// A template of this format has all of these in its source.
  std::string_view needles[3] = {};
  CallSyntax syntax = CallSyntax::kNone;
  std::string_view section_open = {};  ///< opens the calls, each of which has its call_open
  std::string_view call_open = {};
  std::string_view prefix = {};  ///< of a name, which may lack it
  std::string_view name_end = {};
  std::string_view name_end_before_id = {};
  std::string_view head_end = {};
  std::string_view text_head = {};
  std::string_view key_open = {};
  std::string_view key_end = {};
  std::string_view string_key_end = {};
  std::string_view value_open = {};  ///< kGemma: the quote
  std::string_view value_close = {};
  std::string_view closers[3] = {};  ///< behind a call: one of them
  std::string_view section_close = {};
  std::string_view skips[4] = {};  ///< around text, no part of it
  bool bare_object = false;        ///< kJson: "{" where the text begins opens a call, too
  bool id_behind = false;          ///< kJson
  bool starts_in_head = false;     ///< kHeaded: the prompt ends with call_open
  bool trims_newlines = false;     ///< kFields
  bool short_ids = false;
  WrittenCalls written = {};
};

/// Of these the first whose needles are all there counts.
std::span<const AnswerForm> AnswerForms();
/// The same for reasoning: the first whose two markers are there.
std::span<const ReasoningForm> ReasoningForms();

}  // namespace skald::chat
