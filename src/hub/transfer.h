/// Session and Transfer: HTTP requests that run beside each other, by libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/curl_library.h"
#include "skald/status.h"

namespace skald::hub {

/// What is asked for.
struct TransferRequest {
  std::string url;
  std::string token = {};  ///< sent to this host, not to where it redirects
  /// Bytes first .. last of it, both included; nothing: all.
  struct Range {
    int64_t first = 0;
    int64_t last = 0;
  };
  std::optional<Range> range = {};
  std::string if_range = {};  ///< the ETag that the range must be of; empty: any
  double patience_seconds = 30;
  std::string ca_file = {};  ///< set by the session
};

/// What is known of the answer when its head has come.
struct AnswerHead {
  int status = 0;
  int64_t total_bytes = -1;      ///< of the whole file; -1: not said
  int64_t first_byte = 0;        ///< of what comes
  std::string etag = {};         ///< empty if there is none, or only a weak one
  std::string linked_etag = {};  ///< Hugging Face's: of the file behind the redirections
  std::string next_page = {};    ///< address of the rest of a list
  double retry_after_seconds = 0;
};

/// One request. Made by Session::Start; pinned, because libcurl keeps its address.
class Transfer {
 public:
  /// Takes the next bytes of the body of an answer of 200 or 206; false ends the transfer.
  using TakeBytes = std::function<bool(const AnswerHead& head, std::string_view bytes)>;

  Transfer(const CurlLibrary& library, TransferRequest request, TakeBytes take);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  const AnswerHead& head() const { return head_; }
  bool is_done() const { return is_done_; }
  /// How it ended, once it is done. Errors: kNotFound (404), kInvalidArgument (401, 403: a token),
  /// kUnavailable for the rest. TakeBytes' refusal is kCancelled.
  const Status& status() const { return status_; }
  /// Whether TakeBytes ended it.
  bool is_refused() const { return is_refused_; }
  /// Whether the same may go well in a moment: the connection broke, or the server is busy.
  bool may_retry() const { return may_retry_; }

 private:
  friend class Session;
  static size_t TakeHeader(char* data, size_t size, size_t count, void* self);
  static size_t TakeBody(char* data, size_t size, size_t count, void* self);
  void SetOptions();
  void TakeHeaderLine(std::string_view line);
  void Finish(CURLcode code);
  void FinishWithStatus();

  const CurlLibrary& library_;
  TransferRequest request_;
  TakeBytes take_;
  CURL* handle_;
  curl_slist* headers_ = nullptr;
  AnswerHead head_;
  Status status_;
  std::string error_body_;
  bool is_done_ = false;
  bool is_refused_ = false;  // by TakeBytes
  bool may_retry_ = false;
};

/// Runs transfers on the calling thread.
class Session {
 public:
  /// `ca_file` as in HubOptions. Errors: those of CurlLibrary::Load.
  static Result<Session> Create(std::string ca_file);
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;

  /// The transfer runs while somebody is in Run, until it is done or destroyed with Drop.
  std::unique_ptr<Transfer> Start(TransferRequest request, Transfer::TakeBytes take);
  void Drop(std::unique_ptr<Transfer> transfer);
  /// Moves bytes for a tenth of a second at most, or until a transfer ends.
  void Run();

 private:
  explicit Session(CurlLibrary library) : library_(std::make_unique<CurlLibrary>(library)) {}

  std::unique_ptr<CurlLibrary> library_;  // transfers refer to it
  CURLM* multi_ = nullptr;
  std::string ca_file_;
};

/// What somebody wants of an answer.
struct Question {
  std::function<void()> begin =
      nullptr;  ///< before each attempt: what came before is worth nothing
  Transfer::TakeBytes take;
  std::function<bool()> stop = nullptr;
};

/// Asks, and again after a pause while that may help. Returns the head of the answer that came, or
/// of one whose bytes `take` refused. Errors: those of the last transfer; kCancelled if `stop` said
/// so.
Result<AnswerHead> Ask(Session& session, const TransferRequest& request, const Question& question);

/// The whole body of a small answer. Errors: as Ask; kUnavailable if it is longer than
/// `most_bytes`.
struct SmallAnswer {
  AnswerHead head;
  std::string body;
};
Result<SmallAnswer> FetchSmall(Session& session, const TransferRequest& request, int64_t most_bytes,
                               const std::function<bool()>& stop);

}  // namespace skald::hub
