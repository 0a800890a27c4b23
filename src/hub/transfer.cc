#include "hub/transfer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status_macros.h"
#include "base/stopwatch.h"

namespace skald::hub {
namespace {

constexpr int kPollMilliseconds = 100;
constexpr long kRedirections = 10;
constexpr long kConnectSeconds = 15;
constexpr int kAttempts = 4;
// Of a page that says what is wrong, as much as a message can hold.
constexpr size_t kErrorBytes = 300;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

int64_t NumberOr(std::string_view text, int64_t fallback) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && number >= 0 ? number : fallback;
}

// The text between quotes; a weak ETag promises too little to join two halves of a file.
std::string StrongTag(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  return std::string(value);
}

// "bytes 0-99/1234"
void ReadContentRange(std::string_view value, AnswerHead* head) {
  const size_t space = value.find(' ');
  const size_t dash = value.find('-');
  const size_t slash = value.find('/');
  if (space == std::string_view::npos || dash == std::string_view::npos ||
      slash == std::string_view::npos || dash < space)
    return;
  head->first_byte = NumberOr(value.substr(space + 1, dash - space - 1), -1);
  head->total_bytes = NumberOr(value.substr(slash + 1), -1);
}

// `<https://...>; rel="next"`
std::string NextPage(std::string_view value) {
  const size_t rel = value.find("rel=\"next\"");
  const size_t begin = value.find('<');
  const size_t end = value.find('>');
  if (rel == std::string_view::npos || begin == std::string_view::npos || end < begin) return {};
  return std::string(value.substr(begin + 1, end - begin - 1));
}

std::string HostOf(std::string_view url) {
  const size_t begin = url.find("//");
  if (begin == std::string_view::npos) return std::string(url);
  const std::string_view rest = url.substr(begin + 2);
  return std::string(rest.substr(0, rest.find_first_of("/?#")));
}

// Whether what broke is the way, not the thing asked for.
bool IsTransient(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    default: return false;
  }
}

bool IsTransient(int status) { return status == 408 || status == 429 || status >= 500; }

}  // namespace

Transfer::Transfer(const CurlLibrary& library, TransferRequest request, TakeBytes take)
    : library_(library),
      request_(std::move(request)),
      take_(std::move(take)),
      handle_(library.easy_init()) {
  SetOptions();
}

Transfer::~Transfer() {
  library_.easy_cleanup(handle_);
  library_.slist_free_all(headers_);
}

void Transfer::SetOptions() {
  const auto set = [this](CURLoption option, auto value) {
    library_.easy_setopt(handle_, option, value);
  };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_USERAGENT, "skald");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kRedirections);
  // A link of the other side must not make this a reader of local files, nor drop the encryption.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, request_.url.starts_with("https:") ? "https" : "http,https");
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  // Slower than a byte a second for so long is a stall; a slow line is none.
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request_.patience_seconds)));
  set(CURLOPT_HEADERFUNCTION, &Transfer::TakeHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transfer::TakeBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  if (!request_.ca_file.empty()) set(CURLOPT_CAINFO, request_.ca_file.c_str());
  if (!request_.token.empty()) {
    // In this form libcurl forgets it at a redirection to another host.
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    set(CURLOPT_XOAUTH2_BEARER, request_.token.c_str());
  }
  if (!request_.range) return;
  const std::string range =
      std::to_string(request_.range->first) + "-" + std::to_string(request_.range->last);
  set(CURLOPT_RANGE, range.c_str());  // libcurl copies
  if (request_.if_range.empty()) return;
  headers_ = library_.slist_append(headers_, ("If-Range: " + request_.if_range).c_str());
  set(CURLOPT_HTTPHEADER, headers_);
}

size_t Transfer::TakeHeader(char* data, size_t size, size_t count, void* self) {
  static_cast<Transfer*>(self)->TakeHeaderLine({data, size * count});
  return size * count;
}

void Transfer::TakeHeaderLine(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    // A redirection's answer is over, another begins. What Hugging Face says of the file stands in
    // its own answer, before the redirection.
    AnswerHead next;
    next.linked_etag = head_.linked_etag;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      next.status = static_cast<int>(NumberOr(line.substr(space + 1, 3), 0));
    head_ = std::move(next);
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = Lower(line.substr(0, colon));
  const std::string_view value = Trim(line.substr(colon + 1));
  if (name == "content-range") ReadContentRange(value, &head_);
  if (name == "content-length" && head_.status == 200) head_.total_bytes = NumberOr(value, -1);
  if (name == "etag") head_.etag = StrongTag(value);
  if (name == "x-linked-etag") head_.linked_etag = StrongTag(value);
  if (name == "link") head_.next_page = NextPage(value);
  if (name == "retry-after")
    head_.retry_after_seconds = static_cast<double>(std::min<int64_t>(NumberOr(value, 0), 60));
}

size_t Transfer::TakeBody(char* data, size_t size, size_t count, void* self) {
  Transfer& transfer = *static_cast<Transfer*>(self);
  const std::string_view bytes = {data, size * count};
  const int status = transfer.head_.status;
  if (status != 200 && status != 206) {
    // The page of a redirection is dropped, that of an error says why.
    if (status >= 400 && transfer.error_body_.size() < kErrorBytes) transfer.error_body_ += bytes;
    return bytes.size();
  }
  if (transfer.take_(transfer.head_, bytes)) return bytes.size();
  transfer.is_refused_ = true;
  return 0;
}

void Transfer::Finish(CURLcode code) {
  is_done_ = true;
  if (is_refused_) {
    status_ = Status(ErrorCode::kCancelled, "stopped");
    return;
  }
  const std::string host = HostOf(request_.url);
  if (code == CURLE_OK) return FinishWithStatus();
  may_retry_ = IsTransient(code);
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY) {
    status_ =
        Status(ErrorCode::kUnavailable, "cannot find " + host +
                                            ": is this machine online? A model file that is here "
                                            "is used by its path: -m FILE.gguf");
    return;
  }
  std::string reason = library_.easy_strerror(code);
  // Of these two libcurl does not say what they are about.
  if (code == CURLE_SSL_CACERT_BADFILE) reason += ": " + request_.ca_file;
  if (code == CURLE_UNSUPPORTED_PROTOCOL)
    reason += " (nothing is fetched but by http and https, nor by http what https led to)";
  status_ = Status(ErrorCode::kUnavailable, host + ": " + reason);
}

void Transfer::FinishWithStatus() {
  const int status = head_.status;
  if (status == 200 || status == 206) return;
  const std::string host = HostOf(request_.url);
  const std::string number = std::to_string(status);
  may_retry_ = IsTransient(status);
  if (status == 404 || status == 410) {
    status_ = Status(ErrorCode::kNotFound, host + " has no " + request_.url);
  } else if (status == 401 || status == 403) {
    status_ = Status(ErrorCode::kInvalidArgument,
                     host + " refuses " + request_.url + " (" + number +
                         "): it does not exist, or it is only for those with a token (HF_TOKEN) "
                         "who have accepted its licence");
  } else {
    const std::string_view first_line =
        std::string_view(error_body_).substr(0, error_body_.find('\n'));
    status_ = Status(ErrorCode::kUnavailable,
                     host + " answers " + number +
                         (first_line.empty() ? "" : ": " + std::string(first_line.substr(0, 120))));
  }
}

Result<Session> Session::Create(std::string ca_file) {
  Result<CurlLibrary> library = CurlLibrary::Load();
  if (!library.ok()) return std::move(library).status();
  Session session(*library);
  session.multi_ = session.library_->multi_init();
  session.ca_file_ = std::move(ca_file);
  return session;
}

Session::Session(Session&& other) noexcept
    : library_(std::move(other.library_)),
      multi_(std::exchange(other.multi_, nullptr)),
      ca_file_(std::move(other.ca_file_)) {}

Session::~Session() {
  if (multi_ != nullptr) library_->multi_cleanup(multi_);
}

std::unique_ptr<Transfer> Session::Start(TransferRequest request, Transfer::TakeBytes take) {
  request.ca_file = ca_file_;
  auto transfer = std::make_unique<Transfer>(*library_, std::move(request), std::move(take));
  library_->multi_add_handle(multi_, transfer->handle_);
  return transfer;
}

void Session::Drop(std::unique_ptr<Transfer> transfer) {
  library_->multi_remove_handle(multi_, transfer->handle_);
}

void Session::Run() {
  int running = 0;
  library_->multi_perform(multi_, &running);
  int left = 0;
  bool has_ended = false;
  while (CURLMsg* message = library_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* transfer = nullptr;
    const CURLcode code = message->data.result;
    library_->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    static_cast<Transfer*>(transfer)->Finish(code);
    has_ended = true;
  }
  if (!has_ended) library_->multi_poll(multi_, nullptr, 0, kPollMilliseconds, nullptr);
}

Result<AnswerHead> Ask(Session& session, const TransferRequest& request, const Question& question) {
  const auto stopped = [&] { return question.stop && question.stop(); };
  for (int attempt = 1;; ++attempt) {
    if (question.begin) question.begin();
    auto transfer = session.Start(request, question.take);
    while (!transfer->is_done() && !stopped()) session.Run();
    const bool is_done = transfer->is_done();
    const bool is_answered = transfer->status().ok() || transfer->is_refused();
    const bool may_retry = transfer->may_retry();
    AnswerHead head = transfer->head();
    const Status status = transfer->status();
    session.Drop(std::move(transfer));
    if (!is_done) return Status(ErrorCode::kCancelled, "stopped");
    if (is_answered) return head;
    if (!may_retry || attempt == kAttempts) return status;
    const Stopwatch pause;
    const double seconds = std::max(0.3 * attempt, head.retry_after_seconds);
    while (pause.Seconds() < seconds && !stopped()) session.Run();
  }
}

Result<SmallAnswer> FetchSmall(Session& session, const TransferRequest& request, int64_t most_bytes,
                               const std::function<bool()>& stop) {
  SmallAnswer answer;
  const auto is_too_long = [&] { return static_cast<int64_t>(answer.body.size()) > most_bytes; };
  const Question question = {.begin = [&] { answer.body.clear(); },
                             .take =
                                 [&](const AnswerHead&, std::string_view bytes) {
                                   answer.body += bytes;
                                   return !is_too_long();
                                 },
                             .stop = stop};
  ASSIGN_OR_RETURN(answer.head, Ask(session, request, question));
  if (is_too_long())
    return Status(ErrorCode::kUnavailable, HostOf(request.url) + ": the answer has no end");
  return answer;
}

}  // namespace skald::hub
