/// HttpRequest and HttpResponse: HTTP/1.1 messages as plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald::server {

/// One field line of a header section.
struct HttpField {
  std::string name;  ///< in lower case
  std::string value;
};

/// A request as it stands in the bytes, proven well-formed (RequestReader).
struct HttpRequest {
  std::string method;  ///< "POST": a token, case as sent
  std::string target;  ///< "/v1/models?x=1": origin form or "*"
  std::vector<HttpField> fields;
  std::string body;
  bool keep_alive = true;  ///< what the client wants to happen after the answer
  bool is_http_1_0 = false;
  bool expects_continue = false;  ///< it waits for "100 Continue" before it sends the body

  /// The value of the first field of this name (lower case), if there is one.
  std::optional<std::string_view> Field(std::string_view name) const;
  /// The target up to the query.
  std::string_view Path() const;
};

/// A complete answer. Content-Length, Date and Connection are added when it is sent.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpField> fields = {};
  std::string body = {};
  /// The rest of the body: a long one comes in pieces, each let go when the client has taken it.
  std::vector<std::string> more = {};

  /// Of the whole body.
  size_t BodyBytes() const;
};

/// ASCII letters in lower case, all else as it is.
std::string LowerCase(std::string_view text);

/// "Not Found". "Unknown" for a status that this server never sends.
std::string_view ReasonPhrase(int status);

/// True if `value` may stand in a field line: visible ASCII, blanks and bytes above 0x7F.
bool IsFieldValue(std::string_view value);

/// The bytes of a head: status line, `fields`, empty line. Values that may not stand in a field
/// line are left out: a client must not be able to write our header.
std::string HeadBytes(int status, const std::vector<HttpField>& fields);

}  // namespace skald::server
