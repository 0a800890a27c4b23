/// Model listing: /api/tags, /api/ps, /api/show: what Ollama's clients ask of the models there are,
/// of which this server has one.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "server/served_model.h"

namespace skald::server {

/// {"models": [...]} with the model, which is there since `created` (seconds since 1970).
std::string TagsJson(const ServedModel& served, int64_t created);
/// The same as what is loaded.
std::string LoadedJson(const ServedModel& served, int64_t created);
/// Details of the model whose name `body` has. Errors: 400, 404.
OrError<std::string> AnswerShow(const ServedModel& served, const boost::json::value& body);

}  // namespace skald::server
