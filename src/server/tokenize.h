/// The routes /tokenize and /detokenize: bodies in the forms of llama-server and of vLLM, answers
/// with the fields of both. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "server/served_model.h"
#include "server/work_pool.h"

namespace skald::server {

/// What an answer may cost.
struct AnswerLimits {
  const WorkLimit& work;
  int64_t bytes;  ///< beyond it: 400 with both numbers
};

/// {"content" or "prompt", "add_special" or "add_special_tokens", "with_pieces"} to {"tokens",
/// "count", "max_model_len"}. The beginning-of-text token is added where it is asked for (default,
/// as llama.cpp's: not).
OrError<std::string> AnswerTokenize(const ServedModel& served, const boost::json::value& body,
                                    const AnswerLimits& limits);

/// {"tokens"} to {"content", "prompt"}.
OrError<std::string> AnswerDetokenize(const ServedModel& served, const boost::json::value& body,
                                      const AnswerLimits& limits);

}  // namespace skald::server
