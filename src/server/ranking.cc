// Prepare of requests that rank (served_model.h).

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "server/rank_writer.h"
#include "server/served_model.h"

namespace skald::server {

namespace {

ApiError TooLong(std::string_view at_least, int64_t tokens, int64_t most) {
  return ApiError{
      .status = 400,
      .message = fmt::format("a pair has {}{} tokens, expected at most {}", at_least, tokens, most),
      .param = "documents",
      .code = "context_length_exceeded"};
}

// The request of the engine for one pair.
OrError<Request> PairRequest(const ServedModel& served, const PrepareContext& context,
                             std::string_view query, std::string_view document) {
  if (context.limit.IsOver()) return TooMuchWork();
  const int64_t most = served.engine.context();
  // Megabytes need not become tokens to be too many.
  const int64_t least =
      static_cast<int64_t>(query.size() + document.size()) / served.longest_token_bytes;
  if (least > most) return TooLong("at least ", least, most);
  Result<PairTokens> pair = served.model.EncodePair(query, document, context.limit.stop_check());
  if (!pair.ok() && pair.status().code() == ErrorCode::kCancelled) return TooMuchWork();
  if (!pair.ok()) return BadRequest("documents", pair.status().message());
  const auto count = static_cast<int64_t>(pair->tokens.size());
  if (count > most) return TooLong("", count, most);
  // Member by member: of a list gcc 12 believes that other members are not set.
  Request request;
  request.prompt = std::move(pair->tokens);
  request.cache_namespace = context.cache_namespace;
  request.pooling = *served.model.info().rank_pooling;
  request.score = true;
  request.second_text = pair->second_text;
  ApplyRights(*context.tenant, request);
  return request;
}

}  // namespace

OrError<PreparedVectors> Prepare(const ServedModel& served, RankRequest request,
                                 const PrepareContext& context) {
  if (auto error = CheckModelName(served, request.model)) return *error;
  if (!served.model.info().rank_pooling) {
    return Unsupported({},
                       "this model does not rank texts: that takes one that was trained to, with "
                       "a head for scores in its file (docs/models.md)");
  }
  const auto pairs = static_cast<int64_t>(request.documents.size());
  const int64_t at_once = std::min<int64_t>(pairs, kInputsAtOnce);
  if (auto error = context.room.Refusal({.sequences = at_once, .tokens = pairs})) return *error;
  PreparedVectors prepared;
  for (size_t i = 0; i < request.documents.size(); ++i) {
    auto pair = PairRequest(served, context, request.query(i), request.documents[i]);
    if (const auto* error = std::get_if<ApiError>(&pair)) return *error;
    prepared.engine_requests.push_back(std::get<Request>(std::move(pair)));
  }
  prepared.ignored = std::move(request.ignored);
  prepared.numbers = pairs;
  const auto writer = std::make_shared<RankWriter>(std::move(request));
  prepared.answer_bytes = writer->bytes();
  if (prepared.answer_bytes > context.max_answer_bytes)
    return AnswerTooLarge(prepared.answer_bytes, context.max_answer_bytes, ": ask for fewer");
  prepared.writer = writer;
  return prepared;
}

}  // namespace skald::server
