/// ExitCode: what the command tells the shell. Documented in docs/cli.md; never renumbered.
#pragma once

#include <cstdint>

#include "skald/status.h"

namespace skald::cli {

/// One number per kind of cause, the kinds of skald/status.h first.
enum class ExitCode : uint8_t {
  kOk = 0,
  kMismatch = 1,           ///< `proof`, `verify`: what was compared differs, as with cmp.
  kUnexpected = 1,         ///< An error of no other kind, e.g. an exception of a library.
  kUsage = 2,              ///< kInvalidArgument: the command line makes no sense as written.
  kNotFound = 3,           ///< No such file or model.
  kIo = 4,                 ///< Could not read or write.
  kBadModel = 5,           ///< The model file is malformed.
  kUnsupported = 6,        ///< The model file needs something this version lacks.
  kResourceExhausted = 7,  ///< Does not fit into memory or context.
  kCancelled = 8,          ///< Reserved: stopped on request, but not by Ctrl-C.
  kNumeric = 9,            ///< The computation gave NaN or infinity.
  kUnavailable = 10,       ///< Not now: too many requests wait.
  kEngineDead = 71,        ///< `serve`: engine, work or connections stand still (EX_OSERR).
  kInterrupted = 130,      ///< Ctrl-C: 128 + SIGINT, as shells report it.
  kPipeClosed = 141,       ///< The reader of stdout went away: 128 + SIGPIPE, as shells report it.
};

/// The exit code for a status.
ExitCode ExitCodeOf(ErrorCode code);

}  // namespace skald::cli
