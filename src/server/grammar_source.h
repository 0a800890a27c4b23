/// GrammarSource: what a body says its answer must be, in the words of whichever API.
///
///     response_format                                   OpenAI, and llama.cpp's `schema` in it
///     structured_outputs, guided_*                      vLLM, now and before
///     grammar, json_schema                              llama.cpp
///
/// One of them in a request; two are an error. Nothing is compiled here (grammar_cache.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "skald/grammar.h"

namespace skald::server {

/// Texts of a choice.
inline constexpr size_t kMaxGrammarChoices = 1000;

enum class GrammarKind : uint8_t { kJsonSchema, kRegex, kGbnf };

struct GrammarSource {
  GrammarKind kind = GrammarKind::kJsonSchema;
  std::string text = {};
  SchemaOptions options = {};  ///< of a schema
  /// Where it stands in the body, from its root: names of members.
  std::vector<std::string> path = {};
  /// Whether `text` is still to be taken from there (TakeRawText): a number that a reader of JSON
  /// has turned into a double is not what stands in the schema any more.
  bool is_raw = false;
};

/// Nothing: the answer may be any text.
std::optional<GrammarSource> ReadGrammarSource(Fields& fields);

/// The member `format` of `holder`, for APIs that have it inside of another member (`path` leads
/// there from the root of the body): {"type", "schema", "strict"}, of type text, json_object or
/// json_schema. Sets `source` unless any text is asked for.
void ReadNestedFormat(Fields& holder, std::vector<std::string> path,
                      std::optional<GrammarSource>* source);

/// Fills in the text of a source that is_raw from `body`, of which the source was read.
void TakeRawText(std::string_view body, GrammarSource* source);

/// "/response_format/json_schema/schema": the path as a JSON pointer.
std::string PointerOf(const GrammarSource& source);

}  // namespace skald::server
