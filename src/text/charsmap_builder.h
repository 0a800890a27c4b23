/// CharsmapBuilder: small charsmaps for the tests and fuzzers of this room.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::text {

/// The blob of a charsmap in which each prefix of a key has a block of 256 units of its own: larger
/// than SentencePiece's, and simple.
class CharsmapBuilder {
 public:
  CharsmapBuilder() : units_(2 * kBlock) { Link(0, kBlock); }

  CharsmapBuilder& Add(std::string_view key, std::string_view replacement) {
    uint32_t unit = 0;
    for (const char c : key) {
      const auto byte = static_cast<uint8_t>(c);
      const auto [known, is_new] = children_.try_emplace({unit, byte}, bases_[unit] ^ byte);
      if (is_new) {
        units_[known->second] |= byte;
        Link(known->second, static_cast<uint32_t>(units_.size()));
        units_.resize(units_.size() + kBlock);
      }
      unit = known->second;
    }
    units_[unit] |= kEndsKey;
    units_[bases_[unit]] = kValue | static_cast<uint32_t>(replacements_.size());
    replacements_.append(replacement).push_back('\0');
    return *this;
  }

  /// The units, to be damaged. The first key byte's unit stands at 256 ^ byte.
  std::vector<uint32_t>& units() { return units_; }

  std::string Build() const {
    std::string blob;
    AppendWord(static_cast<uint32_t>(units_.size() * 4), &blob);
    for (const uint32_t unit : units_) AppendWord(unit, &blob);
    return blob + replacements_;
  }

 private:
  static constexpr uint32_t kBlock = 256;
  static constexpr uint32_t kEndsKey = 1u << 8;
  static constexpr uint32_t kValue = 1u << 31;

  static void AppendWord(uint32_t word, std::string* out) {
    for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(word >> (8 * i) & 0xFF));
  }
  void Link(uint32_t unit, uint32_t base) {
    bases_[unit] = base;
    units_[unit] |= (unit ^ base) << 10;
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::map<uint32_t, uint32_t> bases_;
  std::map<std::pair<uint32_t, uint8_t>, uint32_t> children_;
};

}  // namespace skald::text
