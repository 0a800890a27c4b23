/// What an answer is held to, compiled.
#pragma once

#include "server/answer_source.h"
#include "server/api_error.h"
#include "server/grammar_cache.h"
#include "skald/constraint.h"
#include "skald/stop_check.h"

namespace skald::server {

/// The grammar of `source` over `vocabulary`. Bounded in steps by CompileBudget, all of its parts
/// together. A schema that cannot be kept exactly is refused, or, of a tool that is not strict,
/// kept as far as it can be; what is left out is named. A refusal is 400, with the place in the
/// body as a JSON pointer. What is said where `stop` ended it means nothing.
OrError<CompiledGrammar> CompileAnswer(const AnswerSource& source, const Vocabulary& vocabulary,
                                       StopCheck stop);

}  // namespace skald::server
