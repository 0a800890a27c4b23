/// RETURN_IF_ERROR and ASSIGN_OR_RETURN: the only two macros in skald that change control flow.
#pragma once

#include "skald/status.h"

/// Evaluates an expression of type Status and returns it from the enclosing function if it is an
/// error.
#define RETURN_IF_ERROR(expression)                              \
  do {                                                           \
    if (::skald::Status status_ = (expression); !status_.ok()) { \
      return status_;                                            \
    }                                                            \
  } while (false)

#define SKALD_CONCAT_INNER(a, b) a##b
#define SKALD_CONCAT(a, b) SKALD_CONCAT_INNER(a, b)

/// Evaluates an expression of type Result<T>; assigns its value to `target` (which may declare a
/// variable), or returns the error from the enclosing function: ASSIGN_OR_RETURN(const uint64_t
/// size, CheckedMul(rows, row_bytes));
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(SKALD_CONCAT(result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).status();     \
  target = *std::move(result)
