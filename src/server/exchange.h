/// Exchange and AnswerChannel: the two ends between a connection and what answers a request.
///
/// Everything here happens on the I/O thread. A connection has at most one exchange at a time; it
/// tells it when the client has gone and when there is room to write again. The exchange answers
/// once: either Respond or Refuse, or BeginStream, any number of Write, and EndStream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/http_message.h"

namespace skald::server {

/// What a stream consists of.
struct StreamForm {
  std::string_view content_type = "text/event-stream";
  /// Means nothing wherever it stands between two parts: sent when nothing else was for long.
  std::string_view heartbeat = ":\n\n";
};

/// Where an answer goes. Implemented by the connection (and by tests).
class AnswerChannel {
 public:
  virtual ~AnswerChannel() = default;
  /// The whole answer.
  virtual void Respond(HttpResponse response) = 0;
  /// The whole answer is an error, which is written as the API that was asked does, with `fields`.
  virtual void Refuse(const ApiError& error, std::vector<HttpField> fields) = 0;
  /// The head of a stream.
  virtual void BeginStream(StreamForm form, std::vector<HttpField> fields) = 0;
  virtual void Write(std::string_view bytes) = 0;
  virtual void EndStream() = 0;
  /// Bytes that the client has not taken yet.
  virtual size_t backlog() const = 0;
  /// The exchange holds so many bytes for this answer now. False, and nothing is changed, if all
  /// clients together would hold too many: then the request is to be given up.
  [[nodiscard]] virtual bool Reserve(int64_t bytes) = 0;
};

/// What an exchange tells the access log. No content of prompts or answers.
struct ExchangeSummary {
  std::string id;  ///< x-request-id; empty if it has none
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
  std::string warnings = {};  ///< x-skald-warnings
};

/// One request being answered.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The client has gone: let everything go that works for it. The channel is not to be used again.
  virtual void OnGone() = 0;
  /// The backlog has become small.
  virtual void OnWritable() = 0;
  /// The server stops now: say so as the answer, or at the end of what has been said.
  virtual void OnShutdown() = 0;
  /// About once a second.
  virtual void OnTick() = 0;
  virtual ExchangeSummary Summary() const = 0;
};

}  // namespace skald::server
