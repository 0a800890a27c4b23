/// Status and Result<T>: how skald reports bad input.
///
/// A condition that a file, a flag, a prompt or the machine can cause is an error value of one of
/// these two types, with a message that a user can act on: what, where, what was expected, what was
/// found. A condition that only a bug can cause is a CHECK (src/base/check.h). There is nothing in
/// between: no log line and a null, no exception thrown by skald's code.
///
/// After the idea of LevelDB's Status and ExecuTorch's Result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace skald {

/// What kind of cause an error has. Each has one exit code of the command (docs/cli.md) and one
/// home here.
enum class ErrorCode : uint8_t {
  kOk = 0,
  kInvalidArgument,    ///< A flag, parameter or request that makes no sense as written.
  kNotFound,           ///< A file, model or name that does not exist.
  kIo,                 ///< The system refused: read, write, map, disk full, file vanished.
  kBadModel,           ///< A model file that is malformed or contradicts itself.
  kUnsupported,        ///< Well formed, but not something this version can run.
  kResourceExhausted,  ///< Does not fit: memory, pages, context.
  kCancelled,          ///< The caller asked to stop.
  kNumeric,            ///< A computation produced NaN or infinity (weights broken).
  kUnavailable,        ///< Not now: a queue is full. The same may go well later.
};

/// The name of `code` as it stands in messages and JSON, e.g. "bad_model".
std::string_view ErrorCodeName(ErrorCode code);

/// Success, or an error code with a message. Cheap to move; an OK status holds no message.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() = default;
  /// An error. `code` must not be kOk; `message` is one line without a final full stop.
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  /// The message, outermost context first: "model.gguf: tensor 'x': offset 12 is past the end (8)".
  const std::string& message() const { return message_; }

  /// Returns this error with "context: " before its message; an OK status is returned unchanged.
  Status WithContext(std::string_view context) &&;

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string message_;
};

inline Status Ok() { return Status(); }

/// A value of type T, or the Status that says why there is none. Holds a value if and only if
/// status().ok(). Move-only and without a default constructor, so that neither can be forgotten.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)  // NOLINT(google-explicit-constructor): return value;
      : value_(std::move(value)) {}
  /// From an error. An OK status here is a bug; it is turned into an error rather than trusted.
  Result(Status status)  // NOLINT(google-explicit-constructor): return status;
      : status_(std::move(status)) {
    if (status_.ok())
      status_ = Status(ErrorCode::kNumeric, "internal: Result built from an OK status");
  }
  Result(Result&&) noexcept = default;
  Result& operator=(Result&&) noexcept = default;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  /// The value. Only legal if ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace skald
