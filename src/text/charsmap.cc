#include "text/charsmap.h"

#include "base/status_macros.h"

namespace skald::text {

namespace {

// The parts of a unit. `Base` is where its children stand, relative to the unit's own place: the
// child of byte b stands at that place ^ b, and the replacement of the key that ends there at ^ 0.
uint32_t Base(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
uint32_t Label(uint32_t unit) { return unit & ((1u << 31) | 0xFF); }
bool EndsKey(uint32_t unit) { return ((unit >> 8) & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & ((1u << 31) - 1); }

Status Bad(const std::string& what) {
  return Status(ErrorCode::kBadModel, "precompiled_charsmap: " + what);
}

uint32_t ReadUnit(std::string_view bytes) {
  uint32_t unit = 0;
  for (int i = 3; i >= 0; --i)
    unit = unit << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return unit;
}

}  // namespace

Result<Charsmap> Charsmap::Create(std::string_view blob) {
  constexpr size_t kUnitBytes = 4;
  if (blob.size() < kUnitBytes) {
    return Bad("expected 4 bytes with the size of its table, found " + std::to_string(blob.size()));
  }
  const size_t table_bytes = ReadUnit(blob);
  blob.remove_prefix(kUnitBytes);
  if (table_bytes == 0 || table_bytes % kUnitBytes != 0) {
    return Bad("the table must be units of 4 bytes, found " + std::to_string(table_bytes) +
               " bytes");
  }
  if (table_bytes >= blob.size()) {
    return Bad("it is cut off: a table of " + std::to_string(table_bytes) +
               " bytes and replacements expected, found " + std::to_string(blob.size()) + " bytes");
  }
  if (blob.back() != '\0') return Bad("the last replacement has no end");
  Charsmap map;
  map.units_.reserve(table_bytes / kUnitBytes);
  for (size_t at = 0; at < table_bytes; at += kUnitBytes) {
    map.units_.push_back(ReadUnit(blob.substr(at)));
  }
  map.replacements_ = blob.substr(table_bytes);
  RETURN_IF_ERROR(map.CheckTable());
  return map;
}

bool Charsmap::HasChild(uint32_t base, uint8_t byte) const {
  return Label(units_[base ^ byte]) == byte;
}

uint32_t Charsmap::ChildBase(uint32_t base, uint8_t byte) const {
  return base ^ byte ^ Base(units_[base ^ byte]);
}

Status Charsmap::CheckReplacement(uint32_t base) const {
  const uint32_t value = Value(units_[base]);
  if (value >= replacements_.size()) {
    return Bad("replacement " + std::to_string(value) + " begins beyond their " +
               std::to_string(replacements_.size()) + " bytes");
  }
  if (replacements_.find('\0', value) - value > kMaxReplacementBytes) {
    return Bad("replacement " + std::to_string(value) + " is longer than " +
               std::to_string(kMaxReplacementBytes) + " bytes");
  }
  return Ok();
}

// Visits every prefix of a key. Equal ends of keys may be one part of the table, so what has been
// seen to its end is not visited again; a prefix that leads to itself is a cycle.
Status Charsmap::CheckTable() const {
  enum State : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    uint32_t base;
    uint32_t next_byte;
  };
  std::vector<uint8_t> states(units_.size(), kNew);
  std::vector<Visit> path;
  const auto enter = [&](uint32_t base) {
    // All children of a base stand in its block of 256.
    if ((base | 0xFF) >= units_.size()) {
      return Bad("unit " + std::to_string(base) + " lies beyond its " +
                 std::to_string(units_.size()));
    }
    if (states[base] == kOpen) return Bad("it has a cycle at unit " + std::to_string(base));
    if (states[base] == kDone) return Ok();
    if (path.size() > kMaxKeyBytes) {
      return Bad("it has a key longer than " + std::to_string(kMaxKeyBytes) + " bytes");
    }
    states[base] = kOpen;
    path.push_back({base, 1});
    return Ok();
  };
  RETURN_IF_ERROR(enter(Base(units_[0])));
  while (!path.empty()) {
    const auto [base, next] = path.back();
    if (next > 0xFF) {
      states[base] = kDone;
      path.pop_back();
      continue;
    }
    ++path.back().next_byte;
    const auto byte = static_cast<uint8_t>(next);
    if (!HasChild(base, byte)) continue;
    const uint32_t child = ChildBase(base, byte);
    RETURN_IF_ERROR(enter(child));
    if (EndsKey(units_[base ^ byte])) RETURN_IF_ERROR(CheckReplacement(child));
  }
  return Ok();
}

Charsmap::Match Charsmap::LongestPrefix(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  uint32_t base = Base(units_[0]);
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte == 0 || !HasChild(base, byte)) break;
    const bool ends_key = EndsKey(units_[base ^ byte]);
    base = ChildBase(base, byte);
    if (ends_key) {
      const size_t begin = Value(units_[base]);
      match.replacement =
          std::string_view(replacements_).substr(begin, replacements_.find('\0', begin) - begin);
      match.length = at + 1;
    }
  }
  return match;
}

}  // namespace skald::text
