#include "server/http_message.h"

#include <algorithm>
#include <utility>

namespace skald::server {

std::optional<std::string_view> HttpRequest::Field(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const HttpField& field) { return field.name == name; });
  if (found == fields.end()) return std::nullopt;
  return found->value;
}

std::string_view HttpRequest::Path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

size_t HttpResponse::BodyBytes() const {
  size_t bytes = body.size();
  for (const std::string& piece : more) bytes += piece.size();
  return bytes;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 102: return "Processing";
    case 200: return "OK";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

bool IsFieldValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
  });
}

std::string HeadBytes(int status, const std::vector<HttpField>& fields) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + ' ';
  head += ReasonPhrase(status);
  head += "\r\n";
  for (const HttpField& field : fields) {
    if (IsFieldValue(field.value)) head += field.name + ": " + field.value + "\r\n";
  }
  return head + "\r\n";
}

}  // namespace skald::server
