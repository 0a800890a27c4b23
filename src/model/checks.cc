#include "model/checks.h"

#include <cmath>
#include <string>

namespace skald::model {

Status InRange(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Ok();
  return Status(ErrorCode::kBadModel, std::string(field) + " is " + std::to_string(value) +
                                          ", expected " + std::to_string(low) + " to " +
                                          std::to_string(high));
}

Status Positive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return Ok();
  return Status(ErrorCode::kBadModel, std::string(field) + " is " + std::to_string(value) +
                                          ", expected a positive number");
}

Status NotNegative(std::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return Ok();
  return Status(ErrorCode::kBadModel, std::string(field) + " is " + std::to_string(value) +
                                          ", expected a number of at least 0");
}

}  // namespace skald::model
