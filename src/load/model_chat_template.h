/// The chat template of a model: the file's, or what stands in for it.
#pragma once

#include <string_view>

#include "skald/chat_template.h"
#include "skald/status.h"
#include "skald/tokenizer.h"

namespace skald::load {

/// The template `source` of a model file, or, where it is empty: ChatML if the vocabulary has its
/// two markers <|im_start|> and <|im_end|> as control tokens, else plain lines ("User: ...",
/// "Assistant: ..."), which any model can continue. Errors: as ChatTemplate::Create.
Result<ChatTemplate> ChatTemplateOf(std::string_view source, const Tokenizer& tokenizer);

}  // namespace skald::load
