/// RequestReader: bytes of a connection to HTTP/1.1 requests, strictly. No input or output.
///
/// What RFC 9112 leaves to the generosity of a server is refused here: two programs that are
/// generous in different ways can be made to disagree on where a request ends (request smuggling):
/// a line that ends in LF alone, a folded field, blanks around a field's name, Content-Length that
/// is repeated or is not digits, Content-Length beside Transfer-Encoding, a transfer coding other
/// than chunked, a chunk size that is not hexadecimal digits alone, trailer fields, an absolute
/// target. The result does not depend on how the bytes were cut into pieces. Cost: linear, each
/// byte is looked at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/http_message.h"

namespace skald::server {

/// What a request may take. Beyond it: 414, 431 or 413, as soon as it is known.
struct HttpLimits {
  size_t head_bytes = size_t{16} << 10;  ///< request line and fields
  size_t fields = 64;
  size_t body_bytes = size_t{8} << 20;
};

/// Reads one request after the other. Not thread-safe.
class RequestReader {
 public:
  enum class State : uint8_t {
    kHead,      ///< the head is incomplete; nothing has come if idle()
    kBody,      ///< the head is there (request()), the body is not
    kComplete,  ///< Take() it
    kRefused,   ///< error(); nothing more can be read from this connection
  };

  explicit RequestReader(const HttpLimits& limits) : limits_(limits) {}

  /// Takes the next bytes. Bytes behind a complete request wait until it is taken.
  void Feed(std::string_view bytes);

  State state() const { return state_; }
  /// True between two requests: not one byte of the next has come.
  bool idle() const { return state_ == State::kHead && waiting_bytes() == 0; }
  /// Bytes that wait behind a complete request.
  size_t waiting_bytes() const { return buffer_.size() - begin_; }
  /// Memory that what has come takes.
  size_t held_bytes() const { return buffer_.capacity() + request_.body.capacity(); }
  /// The request, from kBody on without (all of) its body.
  const HttpRequest& request() const { return request_; }
  const ApiError& error() const { return error_; }

  /// The complete request; the next one begins.
  HttpRequest Take();
  /// Nothing more will be read: lets go of what has come.
  void Drop();

 private:
  // Where in a chunked body the next byte belongs.
  enum class ChunkPart : uint8_t { kSize, kData, kDataEnd, kTrailer };

  void Advance();
  bool ScanHead();
  void ParseHead(std::string_view head);
  bool ParseRequestLine(std::string_view line);
  bool ParseField(std::string_view line);
  bool CheckFraming();
  bool CheckLength(std::string_view digits);
  bool CheckHost();
  void NoteConnection();
  bool TakePlainBody();
  bool TakeChunk();
  bool ParseChunkSize(std::string_view line);
  // The next line of a chunked body without its CRLF; false: not there yet, or refused.
  bool TakeLine(std::string_view* line);
  bool Refuse(int status, std::string message);
  // The bytes not yet consumed.
  std::string_view Rest() const { return std::string_view(buffer_).substr(begin_); }
  void Consume(size_t count);

  HttpLimits limits_;
  State state_ = State::kHead;
  std::string buffer_;
  size_t begin_ = 0;    // of what is not yet consumed
  size_t scanned_ = 0;  // from there: bytes of the head, or of a line, that are known to be right
  bool in_first_line_ = true;
  HttpRequest request_;
  ApiError error_;
  bool chunked_ = false;
  ChunkPart chunk_part_ = ChunkPart::kSize;
  size_t body_left_ = 0;  // of the body, or of the chunk
};

}  // namespace skald::server
