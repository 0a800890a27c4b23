#include "server/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::server {
namespace {

using State = RequestReader::State;

constexpr HttpLimits kSmall = {.head_bytes = 200, .fields = 4, .body_bytes = 16};

RequestReader Read(std::string_view bytes, const HttpLimits& limits = {}) {
  RequestReader reader(limits);
  reader.Feed(bytes);
  return reader;
}

int RefusedWith(std::string_view bytes, const HttpLimits& limits = {}) {
  const RequestReader reader = Read(bytes, limits);
  return reader.state() == State::kRefused ? reader.error().status : 0;
}

TEST(RequestReader, ReadsARequestWithoutBody) {
  RequestReader reader = Read("GET /livez?x=1 HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  const HttpRequest request = reader.Take();
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/livez?x=1");
  EXPECT_EQ(request.Path(), "/livez");
  EXPECT_EQ(request.Field("x-y"), "z");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_TRUE(reader.idle());
}

TEST(RequestReader, ReadsABodyOfItsLength) {
  RequestReader reader = Read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_EQ(reader.state(), State::kBody);
  reader.Feed("loGET");
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.waiting_bytes(), 3u);
  EXPECT_EQ(reader.Take().body, "hello");
  EXPECT_EQ(reader.state(), State::kHead);
  EXPECT_FALSE(reader.idle());
}

TEST(RequestReader, ReadsAChunkedBody) {
  RequestReader reader = Read(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nwiki\r\n0A\r\n0123456789\r\n0\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.Take().body, "wiki0123456789");
}

TEST(RequestReader, ReadsPipelinedRequestsInOrder) {
  RequestReader reader = Read(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"
      "xGET /3 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reader.Take().target, "/1");
  const HttpRequest second = reader.Take();
  EXPECT_EQ(second.target, "/2");
  EXPECT_EQ(second.body, "x");
  const HttpRequest third = reader.Take();
  EXPECT_EQ(third.target, "/3");
  EXPECT_FALSE(third.keep_alive);
}

TEST(RequestReader, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxyGET /c HTTP/1.1\r\nHost: "
      "a\r\n\r\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    RequestReader reader({});
    std::vector<std::string> seen;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.Feed(std::string_view(bytes).substr(at, piece));
      while (reader.state() == State::kComplete) {
        const HttpRequest request = reader.Take();
        seen.push_back(request.target + request.body);
      }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"/aabc", "/bxy", "/c"})) << piece;
  }
}

TEST(RequestReader, SaysWhetherTheConnectionGoesOn) {
  const auto keep_alive = [](std::string_view first_line, std::string_view field) {
    std::string bytes(first_line);
    bytes += "\r\nHost: a\r\n";
    bytes += field;
    bytes += "\r\n\r\n";
    return Read(bytes).Take().keep_alive;
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1", "X: y"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1", "Connection: x, Close"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0", "X: y"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0", "Connection: keep-alive"));
}

TEST(RequestReader, RefusesWhatIsNoRequestLine) {
  for (const std::string_view line :
       {"", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / http/1.1", "G(T / HTTP/1.1",
        "GET a HTTP/1.1", "GET http://a/ HTTP/1.1", "GET /\tb HTTP/1.1", " GET / HTTP/1.1"}) {
    EXPECT_EQ(RefusedWith(std::string(line) + "\r\nHost: a\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(RefusedWith("GET / HTTP/9.9\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(RefusedWith("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestReader, RefusesWhatTwoReadersCouldReadDifferently) {
  const std::string line = "POST / HTTP/1.1\r\n";
  for (const std::string_view fields :
       {"Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: a\r\nContent-Length: +1\r\n", "Host: a\r\nContent-Length: 1,1\r\n",
        "Host: a\r\nContent-Length: -1\r\n", "Host: a\r\nContent-Length: 0x1\r\n",
        "Host: a\r\nContent-Length: 99999999999999999999\r\n", "Host: a\r\nContent-Length:\r\n",
        "Host: a\r\nX : y\r\n", "Host: a\r\nno colon\r\n", "Host: a\r\nX: y\r\n folded\r\n",
        "Host: a\r\nConnection: close, x y\r\n", "Host: a\r\n: y\r\n", "X: y\r\n",
        "Host: a\r\nHost: a\r\n"}) {
    EXPECT_EQ(RefusedWith(line + std::string(fields) + "\r\n"), 400) << fields;
  }
}

TEST(RequestReader, RefusesWrongLineEndsAndControlsAtOnce) {
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\rX"), 400);
  EXPECT_EQ(RefusedWith(std::string_view("GET /\0", 6)), 400);
  EXPECT_EQ(RefusedWith("\x16\x03\x01\x02"), 400);  // TLS ClientHello
}

TEST(RequestReader, RefusesBrokenChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body :
       {"-2\r\n", "ZZ\r\n", "\r\n", " 1\r\n", "0x10\r\n", "1 \r\n", "1;x=y\r\n", "1\r\nab\r\n",
        "1\na", "1\r\na\n", "0\r\nX: y\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n"}) {
    EXPECT_EQ(RefusedWith(head + std::string(body)), 400) << body;
  }
  EXPECT_EQ(RefusedWith(head + "FFFFFFFFFFFFFFFF\r\n"), 413);
  EXPECT_EQ(RefusedWith(head + "1;" + std::string(300, 'x')), 400);
}

TEST(RequestReader, RefusesWhatIsLargerThanTheLimits) {
  const auto head_of = [](size_t bytes) {
    const std::string_view frame = "GET / HTTP/1.1\r\nHost: \r\n\r\n";
    return "GET / HTTP/1.1\r\nHost: " + std::string(bytes - frame.size(), 'a') + "\r\n\r\n";
  };
  EXPECT_EQ(RefusedWith(head_of(200), kSmall), 0);
  EXPECT_EQ(RefusedWith(head_of(201), kSmall), 431);
  EXPECT_EQ(RefusedWith("GET /" + std::string(300, 'a'), kSmall), 414);
  const std::string fields = "POST / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\n";
  EXPECT_EQ(RefusedWith(fields + "E: f\r\n\r\n", kSmall), 0);
  EXPECT_EQ(RefusedWith(fields + "E: f\r\nG: h\r\n\r\n", kSmall), 431);
  EXPECT_EQ(RefusedWith(fields + "Content-Length: 16\r\n\r\n", kSmall), 0);
  EXPECT_EQ(RefusedWith(fields + "Content-Length: 17\r\n\r\n", kSmall), 413);
  const std::string chunked = fields + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(RefusedWith(chunked + "10\r\n0123456789abcdef\r\n0\r\n\r\n", kSmall), 0);
  EXPECT_EQ(RefusedWith(chunked + "10\r\n0123456789abcdef\r\n1\r\n", kSmall), 413);
}

TEST(RequestReader, NotesThatTheClientWaitsForContinue) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: ";
  EXPECT_TRUE(Read(head + "100-Continue\r\n\r\n").request().expects_continue);
  EXPECT_EQ(RefusedWith(head + "tea\r\n\r\n"), 417);
}

TEST(HeadBytes, LeavesOutWhatMayNotStandInAField) {
  EXPECT_EQ(HeadBytes(200, {{"a", "b"}, {"c", "d\r\nevil: yes"}}),
            "HTTP/1.1 200 OK\r\na: b\r\n\r\n");
}

}  // namespace
}  // namespace skald::server
