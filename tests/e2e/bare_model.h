/// BareModel: a Model of a tokenizer and a template, without weights.
#pragma once

#include <memory>

#include "skald/chat_template.h"
#include "skald/model.h"
#include "skald/request.h"
#include "skald/status.h"
#include "skald/tokenizer.h"

namespace skald {

/// Defines the members of Model that a server asks; the linker then takes none of the load room's,
/// so a program has either.
Model BareModel(ModelInfo info, Tokenizer tokenizer, Result<ChatTemplate> chat_template);

/// Log probabilities of a request's prompt as no model gives them: all tokens are as likely.
std::shared_ptr<const PromptLogprobs> FlatPrompt(const Request& request);

}  // namespace skald
