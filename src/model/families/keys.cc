#include "model/families/keys.h"

namespace skald::model {

Result<int64_t> Keys::SizeOr(std::string_view name, int64_t fallback) const {
  if (!Contains(name)) return fallback;
  return Size(name);
}

Result<double> Keys::NumberOr(std::string_view name, double fallback) const {
  if (!Contains(name)) return fallback;
  return Number(name);
}

Result<bool> Keys::FlagOr(std::string_view name, bool fallback) const {
  if (!Contains(name)) return fallback;
  return Flag(name);
}

Result<std::string_view> Keys::TextOr(std::string_view name, std::string_view fallback) const {
  if (!Contains(name)) return fallback;
  return Text(name);
}

}  // namespace skald::model
