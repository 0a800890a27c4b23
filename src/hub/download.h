/// Downloading one file: several ranges at once, gone on with after any break.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hub/partial_file.h"
#include "hub/transfer.h"
#include "skald/hub.h"
#include "skald/status.h"

namespace skald::hub {

/// What the other side says of a file before it is fetched.
struct RemoteFacts {
  int64_t bytes = 0;
  bool has_ranges = false;
  std::string etag = {};
  std::string sha256 = {};  ///< where Hugging Face's head names it
};

/// Asks for the first byte. Errors: those of the transfer; kUnavailable if no length is said.
Result<RemoteFacts> AskFacts(Session& session, const TransferRequest& request,
                             const std::function<bool()>& stop);

/// What is fetched, and to where.
struct DownloadTask {
  RemoteFile file;
  std::string target;  ///< path of the file
  std::string token = {};
};

/// Called with the bytes that have come, or been checked; false cancels.
using DownloadWatch = std::function<bool(PullWatch::Stage stage, int64_t done_bytes)>;

/// Fetches the file to its target, checks its hash where one is known, and names it. The caller
/// holds the lock of the target. Errors: as Hub::Pull.
Status Download(Session& session, const DownloadTask& task, const HubOptions& options,
                const DownloadWatch& watch);

}  // namespace skald::hub
