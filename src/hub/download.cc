#include "hub/download.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/stopwatch.h"

namespace skald::hub {
namespace {

// Breaks in a row, without that many bytes between two of them, until the other side counts as
// gone: about 40 s of waiting.
constexpr int kMostFailures = 9;
constexpr int64_t kForgivingBytes = int64_t{256} << 10;
constexpr double kLongestPauseSeconds = 8;
// What a power cut costs at most.
constexpr double kSaveSeconds = 2;

// One connection and the segment that it fills.
struct Connection {
  std::unique_ptr<Transfer> transfer = nullptr;
  Segment* segment = nullptr;
  bool has_begun = false;  // bytes have come
  Status problem = {};     // why bytes were refused
};

class Fetch {
 public:
  Fetch(Session& session, const DownloadTask& task, const HubOptions& options, RemoteFacts facts,
        PartialFile& file)
      : session_(session),
        task_(task),
        options_(options),
        facts_(std::move(facts)),
        file_(file),
        connections_(facts_.has_ranges ? static_cast<size_t>(options.connections) : 1) {}

  ~Fetch() {
    for (Connection& connection : connections_) Close(connection);
  }
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

  // Until every byte is there.
  Status Run(const DownloadWatch& watch) {
    while (!IsWhole()) {
      if (pause_.Seconds() >= pause_seconds_) StartIdle();
      session_.Run();
      for (Connection& connection : connections_) {
        if (connection.transfer == nullptr || !connection.transfer->is_done()) continue;
        RETURN_IF_ERROR(TakeEnd(connection));
      }
      if (saved_.Seconds() > kSaveSeconds) {
        RETURN_IF_ERROR(file_.Save());
        saved_ = Stopwatch();
      }
      if (!watch(PullWatch::Stage::kFetch, file_.done_bytes())) {
        RETURN_IF_ERROR(file_.Save());
        return Status(ErrorCode::kCancelled, "stopped");
      }
    }
    return file_.Save();
  }

 private:
  bool IsWhole() { return file_.done_bytes() == task_.file.bytes; }

  Segment* NextSegment() {
    for (Segment& segment : file_.segments()) {
      if (segment.done == segment.bytes) continue;
      const bool is_taken = std::any_of(connections_.begin(), connections_.end(), [&](auto& other) {
        return other.transfer != nullptr && other.segment == &segment;
      });
      if (!is_taken) return &segment;
    }
    return nullptr;
  }

  void StartIdle() {
    for (Connection& connection : connections_) {
      if (connection.transfer != nullptr) continue;
      connection.segment = facts_.has_ranges ? NextSegment() : &file_.segments().front();
      if (connection.segment == nullptr) return;
      Start(connection);
    }
  }

  void Start(Connection& connection) {
    TransferRequest request = {
        .url = task_.file.url, .token = task_.token, .patience_seconds = options_.patience_seconds};
    // Where a hash is known it will tell, and the parts may come from several copies of the file.
    if (task_.file.sha256.empty()) request.if_range = facts_.etag;
    const Segment& segment = *connection.segment;
    if (facts_.has_ranges) {
      request.range = {.first = segment.first + segment.done,
                       .last = segment.first + segment.bytes - 1};
    } else {
      // All of it or nothing: what came of an attempt before is written again.
      for (Segment& each : file_.segments()) file_.Restart(each);
    }
    connection.problem = Ok();
    connection.has_begun = false;
    connection.transfer = session_.Start(
        std::move(request), [this, &connection](const AnswerHead& head, std::string_view bytes) {
          connection.problem = Take(connection, head, bytes);
          return connection.problem.ok();
        });
  }

  // Writes what has come where it belongs, if it is what was asked for.
  Status Take(Connection& connection, const AnswerHead& head, std::string_view bytes) {
    if (facts_.has_ranges && head.status != 206)
      return Status(ErrorCode::kUnavailable, "the file has changed meanwhile; pull it again");
    if (head.total_bytes >= 0 && head.total_bytes != task_.file.bytes)
      return Status(ErrorCode::kUnavailable, "the server has " + std::to_string(head.total_bytes) +
                                                 " bytes, expected " +
                                                 std::to_string(task_.file.bytes));
    Segment* segment = connection.segment;
    const int64_t at = segment->first + segment->done;
    if (facts_.has_ranges && !connection.has_begun && head.first_byte != at)
      return Status(ErrorCode::kUnavailable, "the server sends another range than was asked for");
    connection.has_begun = true;
    fresh_bytes_ += std::ssize(bytes);
    while (!bytes.empty()) {
      if (segment->done == segment->bytes) {
        // Without ranges one answer fills all segments, one after the other.
        const bool is_last = facts_.has_ranges || segment == &file_.segments().back();
        if (is_last)
          return Status(ErrorCode::kUnavailable, "the server sends more than it promised");
        connection.segment = ++segment;
      }
      const auto part =
          static_cast<size_t>(std::min<int64_t>(std::ssize(bytes), segment->bytes - segment->done));
      RETURN_IF_ERROR(file_.Append(*segment, bytes.substr(0, part)));
      bytes.remove_prefix(part);
    }
    return Ok();
  }

  // A transfer has ended: well, in a way that a pause may mend, or for good.
  Status TakeEnd(Connection& connection) {
    const Status status = connection.transfer->status();
    const bool may_retry = connection.transfer->may_retry();
    const double retry_after = connection.transfer->head().retry_after_seconds;
    const bool is_short = connection.segment->done < connection.segment->bytes;
    Close(connection);
    RETURN_IF_ERROR(connection.problem);
    if (status.ok() && !is_short) return Ok();
    if (!status.ok() && !may_retry) return status;
    if (fresh_bytes_ >= kForgivingBytes) failures_ = 0;
    fresh_bytes_ = 0;
    if (++failures_ > kMostFailures)
      return status.ok() ? Status(ErrorCode::kUnavailable, "the server sends less than it promised")
                         : status;
    pause_ = Stopwatch();
    pause_seconds_ =
        std::max(retry_after, std::min(kLongestPauseSeconds, 0.1 * std::exp2(failures_)));
    return Ok();
  }

  void Close(Connection& connection) {
    if (connection.transfer != nullptr) session_.Drop(std::move(connection.transfer));
  }

  Session& session_;
  const DownloadTask& task_;
  const HubOptions& options_;
  const RemoteFacts facts_;
  PartialFile& file_;
  std::vector<Connection> connections_;
  Stopwatch saved_;
  Stopwatch pause_;
  double pause_seconds_ = 0;
  int failures_ = 0;
  int64_t fresh_bytes_ = 0;  // since the last break
};

Status CheckHash(const DownloadTask& task, PartialFile& file, const DownloadWatch& watch) {
  if (task.file.sha256.empty()) return Ok();
  const auto go_on = [&](int64_t done) { return watch(PullWatch::Stage::kCheck, done); };
  ASSIGN_OR_RETURN(const std::string hash, file.Hash(go_on));
  if (hash == task.file.sha256) return Ok();
  // Which of the bytes are wrong nobody can say.
  file.Discard();
  return Status(ErrorCode::kIo, "the bytes that came have the SHA-256 " + hash + ", expected " +
                                    task.file.sha256 + "; they were removed, pull again");
}

}  // namespace

Result<RemoteFacts> AskFacts(Session& session, const TransferRequest& request,
                             const std::function<bool()>& stop) {
  TransferRequest first_byte = request;
  first_byte.range = {.first = 0, .last = 0};
  // A server without ranges begins to send the whole file.
  const auto take = [](const AnswerHead& head, std::string_view) { return head.status == 206; };
  ASSIGN_OR_RETURN(const AnswerHead head, Ask(session, first_byte, {.take = take, .stop = stop}));
  RemoteFacts facts = {
      .bytes = head.total_bytes, .has_ranges = head.status == 206, .etag = head.etag};
  if (head.linked_etag.size() == 66) facts.sha256 = head.linked_etag.substr(1, 64);
  if (facts.bytes <= 0)
    return Status(ErrorCode::kUnavailable, "the server does not say how long the file is");
  return facts;
}

Status Download(Session& session, const DownloadTask& task, const HubOptions& options,
                const DownloadWatch& watch) {
  const TransferRequest request = {
      .url = task.file.url, .token = task.token, .patience_seconds = options.patience_seconds};
  const auto stop = [&] { return !watch(PullWatch::Stage::kFetch, 0); };
  ASSIGN_OR_RETURN(RemoteFacts facts, AskFacts(session, request, stop));
  if (facts.bytes != task.file.bytes)
    return Status(ErrorCode::kUnavailable, "the server has " + std::to_string(facts.bytes) +
                                               " bytes, expected " +
                                               std::to_string(task.file.bytes));
  const std::string& tag = task.file.sha256.empty() ? facts.etag : task.file.sha256;
  ASSIGN_OR_RETURN(PartialFile file, PartialFile::Open(task.target, {task.file.bytes, tag}));
  RETURN_IF_ERROR(Fetch(session, task, options, std::move(facts), file).Run(watch));
  RETURN_IF_ERROR(CheckHash(task, file, watch));
  return file.Commit();
}

}  // namespace skald::hub
