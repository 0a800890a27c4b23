#include "server/request_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace skald::server {

namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
// A line of a chunked body: at most 16 hexadecimal digits, and their CRLF.
constexpr size_t kChunkLineMax = 32;

// RFC 9110, 5.6.2: token.
bool IsTokenChar(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x21 || byte > 0x7E) return false;
  return std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Calls `take` with each element of a comma-separated list, such as Connection; false if one of
// them is no token. Empty elements do not count (RFC 9110, 5.6.1.2).
template <typename Take>
bool ForEachToken(std::string_view list, Take take) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view element = Trim(list.substr(0, comma));
    if (!element.empty() && !IsToken(element)) return false;
    take(LowerCase(element));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return true;
}

}  // namespace

bool RequestReader::Refuse(int status, std::string message) {
  state_ = State::kRefused;
  error_ = {.status = status, .message = std::move(message)};
  buffer_.clear();
  begin_ = 0;
  std::string().swap(request_.body);
  return false;
}

void RequestReader::Consume(size_t count) {
  begin_ += count;
  scanned_ = 0;
  // Moved to the front only when most of it is consumed: many small pieces stay linear.
  if (begin_ < buffer_.size() - begin_) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
}

void RequestReader::Feed(std::string_view bytes) {
  if (state_ == State::kRefused) return;
  buffer_.append(bytes);
  Advance();
}

HttpRequest RequestReader::Take() {
  CHECK(state_ == State::kComplete);
  HttpRequest request = std::exchange(request_, {});
  state_ = State::kHead;
  in_first_line_ = true;
  chunked_ = false;
  chunk_part_ = ChunkPart::kSize;
  body_left_ = 0;
  Advance();
  return request;
}

void RequestReader::Drop() {
  state_ = State::kRefused;
  // Assigned, a string would keep its memory.
  std::string().swap(buffer_);
  std::string().swap(request_.body);
  begin_ = 0;
}

void RequestReader::Advance() {
  if (state_ == State::kHead && ScanHead()) {
    const size_t length = scanned_;
    ParseHead(Rest().substr(0, length - kHeadEnd.size() + 2));
    if (state_ == State::kRefused) return;
    Consume(length);
    state_ = State::kBody;
  }
  if (state_ != State::kBody) return;
  if (chunked_) {
    while (TakeChunk()) {
    }
  } else if (TakePlainBody()) {
    state_ = State::kComplete;
  }
}

// True when the end of the head has been found at scanned_. Refuses what no head may hold as soon
// as it comes: who waits for the end of something that has none waits for the deadline.
bool RequestReader::ScanHead() {
  const std::string_view rest = Rest();
  for (; scanned_ < rest.size(); ++scanned_) {
    if (scanned_ >= limits_.head_bytes) {
      return in_first_line_ ? Refuse(414, "the target of the request is too long")
                            : Refuse(431, "the header section is larger than " +
                                              std::to_string(limits_.head_bytes) + " bytes");
    }
    const char c = rest[scanned_];
    const bool after_return = scanned_ > 0 && rest[scanned_ - 1] == '\r';
    if ((c == '\n') != after_return) return Refuse(400, "lines must end with CR LF");
    if (c == '\n') {
      in_first_line_ = false;
      if (rest.substr(0, scanned_ + 1).ends_with(kHeadEnd)) {
        ++scanned_;
        return true;
      }
    } else if (c != '\r' && !IsFieldValue({&c, 1})) {
      return Refuse(400, "the header section holds a control character");
    }
  }
  return false;
}

// `head`: lines, each with its CRLF.
void RequestReader::ParseHead(std::string_view head) {
  bool first = true;
  while (!head.empty()) {
    const size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    if (!(first ? ParseRequestLine(line) : ParseField(line))) return;
    first = false;
    head.remove_prefix(end + 2);
  }
  if (CheckHost() && CheckFraming()) NoteConnection();
}

bool RequestReader::ParseRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return Refuse(400, "the request line is not METHOD TARGET VERSION");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version.size() != 8 || !version.starts_with("HTTP/") || !IsDigit(version[5]) ||
      version[6] != '.' || !IsDigit(version[7]))
    return Refuse(400, "the request line does not end with an HTTP version");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return Refuse(505, "this server speaks HTTP 1.1");
  if (!IsToken(method)) return Refuse(400, "the method is not a token");
  const bool visible =
      std::all_of(target.begin(), target.end(), [](char c) { return c >= 0x21 && c <= 0x7E; });
  if (!visible || !(target.starts_with('/') || target == "*"))
    return Refuse(400, "the target of the request is not a path");
  request_.is_http_1_0 = version == "HTTP/1.0";
  request_.method = method;
  request_.target = target;
  return true;
}

bool RequestReader::ParseField(std::string_view line) {
  if (request_.fields.size() == limits_.fields)
    return Refuse(431, "there are more than " + std::to_string(limits_.fields) + " header fields");
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon)))
    return Refuse(400, "a header line is not NAME: VALUE");
  request_.fields.push_back(
      {LowerCase(line.substr(0, colon)), std::string(Trim(line.substr(colon + 1)))});
  return true;
}

bool RequestReader::CheckHost() {
  const auto count = std::count_if(request_.fields.begin(), request_.fields.end(),
                                   [](const HttpField& field) { return field.name == "host"; });
  if (count > 1 || (count == 0 && !request_.is_http_1_0))
    return Refuse(400, "a request needs exactly one Host");
  return true;
}

bool RequestReader::CheckFraming() {
  const std::string* length = nullptr;
  for (const HttpField& field : request_.fields) {
    if (field.name == "content-length") {
      if (length != nullptr) return Refuse(400, "Content-Length stands twice");
      length = &field.value;
    } else if (field.name == "transfer-encoding") {
      if (chunked_ || request_.is_http_1_0 || LowerCase(field.value) != "chunked")
        return Refuse(400, "the only transfer coding is chunked, once, with HTTP 1.1");
      chunked_ = true;
    } else if (field.name == "expect") {
      if (LowerCase(field.value) != "100-continue") return Refuse(417, "expected 100-continue");
      request_.expects_continue = true;
    }
  }
  if (length != nullptr && chunked_)
    return Refuse(400, "Content-Length and Transfer-Encoding contradict each other");
  return length == nullptr || CheckLength(*length);
}

bool RequestReader::CheckLength(std::string_view digits) {
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), IsDigit))
    return Refuse(400, "Content-Length is not a number");
  uint64_t length = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (parsed.ec != std::errc()) return Refuse(400, "Content-Length is not a number of bytes");
  if (length > limits_.body_bytes)
    return Refuse(413, "the body has " + std::to_string(length) + " bytes, at most " +
                           std::to_string(limits_.body_bytes) + " are taken");
  body_left_ = static_cast<size_t>(length);
  return true;
}

void RequestReader::NoteConnection() {
  bool close = false, keep = false;
  for (const HttpField& field : request_.fields) {
    if (field.name != "connection") continue;
    const bool good = ForEachToken(field.value, [&](const std::string& element) {
      close = close || element == "close";
      keep = keep || element == "keep-alive";
    });
    if (!good) {
      Refuse(400, "Connection is not a list of names");
      return;
    }
  }
  request_.keep_alive = !close && (keep || !request_.is_http_1_0);
}

bool RequestReader::TakePlainBody() {
  const size_t count = std::min(body_left_, waiting_bytes());
  // As a string grows, but not beyond what is announced. Not all at once: who announces much and
  // sends nothing takes nothing.
  std::string& body = request_.body;
  if (body.size() + count > body.capacity())
    body.reserve(
        std::min(body.size() + body_left_, std::max(2 * body.size(), body.size() + count)));
  body.append(Rest().substr(0, count));
  body_left_ -= count;
  Consume(count);
  return body_left_ == 0;
}

bool RequestReader::TakeLine(std::string_view* line) {
  const std::string_view rest = Rest();
  for (; scanned_ < rest.size(); ++scanned_) {
    if (scanned_ > kChunkLineMax) return Refuse(400, "a line of the chunked body is too long");
    const char c = rest[scanned_];
    const bool after_return = scanned_ > 0 && rest[scanned_ - 1] == '\r';
    if ((c == '\n') != after_return) return Refuse(400, "lines must end with CR LF");
    if (c != '\n') continue;
    *line = rest.substr(0, scanned_ - 1);
    return true;
  }
  return false;
}

bool RequestReader::ParseChunkSize(std::string_view line) {
  uint64_t size = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const bool whole = parsed.ptr == line.data() + line.size() && !line.empty();
  if (!whole || line.front() == '-' || parsed.ec != std::errc())
    return Refuse(400, "a chunk's size is not a hexadecimal number");
  if (size > limits_.body_bytes - request_.body.size())
    return Refuse(413, "the body is larger than " + std::to_string(limits_.body_bytes) + " bytes");
  body_left_ = static_cast<size_t>(size);
  chunk_part_ = size == 0 ? ChunkPart::kTrailer : ChunkPart::kData;
  return true;
}

// True while there may be more to take.
bool RequestReader::TakeChunk() {
  if (chunk_part_ == ChunkPart::kData) {
    if (!TakePlainBody()) return false;
    chunk_part_ = ChunkPart::kDataEnd;
  }
  std::string_view line;
  if (!TakeLine(&line)) return false;
  switch (chunk_part_) {
    case ChunkPart::kSize:
      if (!ParseChunkSize(line)) return false;
      break;
    case ChunkPart::kData: break;
    case ChunkPart::kDataEnd:
      if (!line.empty()) return Refuse(400, "a chunk is longer than its size");
      chunk_part_ = ChunkPart::kSize;
      break;
    case ChunkPart::kTrailer:
      if (!line.empty()) return Refuse(400, "trailer fields are not taken");
      state_ = State::kComplete;
      break;
  }
  Consume(line.size() + 2);
  return state_ == State::kBody;
}

}  // namespace skald::server
