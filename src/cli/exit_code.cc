#include "cli/exit_code.h"

#include "base/check.h"

namespace skald::cli {

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk: return ExitCode::kOk;
    case ErrorCode::kInvalidArgument: return ExitCode::kUsage;
    case ErrorCode::kNotFound: return ExitCode::kNotFound;
    case ErrorCode::kIo: return ExitCode::kIo;
    case ErrorCode::kBadModel: return ExitCode::kBadModel;
    case ErrorCode::kUnsupported: return ExitCode::kUnsupported;
    case ErrorCode::kResourceExhausted: return ExitCode::kResourceExhausted;
    case ErrorCode::kCancelled: return ExitCode::kCancelled;
    case ErrorCode::kNumeric: return ExitCode::kNumeric;
    case ErrorCode::kUnavailable: return ExitCode::kUnavailable;
  }
  UNREACHABLE();
}

}  // namespace skald::cli
