// Fuzz target: bytes of a connection to requests (RequestReader), against Boost.Beast's parser.
//
// The first byte says how the rest is cut into pieces. Holds for all bytes: the requests and the
// refusal do not depend on the cutting; limits are kept; and of a request that is taken Beast sees
// the same method, target and body, and the same end.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "server/request_reader.h"

namespace skald::server {
namespace {

namespace http = boost::beast::http;

constexpr HttpLimits kLimits = {.head_bytes = 2048, .fields = 16, .body_bytes = 1024};

struct Outcome {
  std::vector<HttpRequest> requests;
  RequestReader::State state;
  int refused_with;
};

Outcome ReadInPieces(std::string_view bytes, size_t piece) {
  RequestReader reader(kLimits);
  Outcome outcome;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(bytes.substr(at, piece));
    while (reader.state() == RequestReader::State::kComplete)
      outcome.requests.push_back(reader.Take());
  }
  outcome.state = reader.state();
  outcome.refused_with =
      outcome.state == RequestReader::State::kRefused ? reader.error().status : 0;
  return outcome;
}

void CheckSame(const Outcome& a, const Outcome& b) {
  CHECK(a.state == b.state && a.refused_with == b.refused_with);
  CHECK(a.requests.size() == b.requests.size());
  for (size_t i = 0; i < a.requests.size(); ++i) {
    CHECK(a.requests[i].method == b.requests[i].method);
    CHECK(a.requests[i].target == b.requests[i].target);
    CHECK(a.requests[i].body == b.requests[i].body);
    CHECK(a.requests[i].fields.size() == b.requests[i].fields.size());
  }
}

// Reads one request by Beast; the bytes behind it are left in `bytes`.
void CheckBeastAgrees(const HttpRequest& request, std::string_view& bytes) {
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.header_limit(4096);
  boost::system::error_code error;
  while (!parser.is_done()) {
    const size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    CHECK(!error);
    bytes.remove_prefix(taken);
    if (taken == 0) break;
  }
  CHECK(parser.is_done());
  CHECK(parser.get().method_string() == request.method);
  CHECK(parser.get().target() == request.target);
  CHECK(parser.get().body() == request.body);
}

}  // namespace
}  // namespace skald::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald::server;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const size_t piece = size_t{1} + data[0] % 64;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = ReadInPieces(bytes, bytes.size() + 1);
  CheckSame(whole, ReadInPieces(bytes, piece));
  for (const HttpRequest& request : whole.requests) {
    CHECK(request.body.size() <= kLimits.body_bytes && request.fields.size() <= kLimits.fields);
    CheckBeastAgrees(request, bytes);
  }
  return 0;
}
