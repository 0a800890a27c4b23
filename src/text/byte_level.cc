#include "text/byte_level.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace skald::text {

namespace {

constexpr bool SpellsItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

constexpr uint32_t kFirstSubstitute = 0x100;
constexpr uint32_t kSubstitutes = 68;  // the bytes that do not spell themselves

constexpr std::array<uint32_t, 256> MakeSpelling() {
  std::array<uint32_t, 256> spelling{};
  uint32_t next = kFirstSubstitute;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    spelling[byte] = SpellsItself(byte) ? byte : next++;
  }
  return spelling;
}
constexpr std::array<uint32_t, 256> kSpelling = MakeSpelling();

constexpr int16_t kNoByte = -1;

constexpr std::array<int16_t, kFirstSubstitute + kSubstitutes> MakeMeaning() {
  std::array<int16_t, kFirstSubstitute + kSubstitutes> meaning{};
  for (int16_t& byte : meaning) byte = kNoByte;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    meaning[kSpelling[byte]] = static_cast<int16_t>(byte);
  }
  return meaning;
}
constexpr auto kMeaning = MakeMeaning();

}  // namespace

bool AppendByteLevelDecoded(std::string_view text, std::string* out) {
  const size_t size_before = out->size();
  while (!text.empty()) {
    const Utf8Sequence character = ReadUtf8(text);
    if (character.kind != Utf8Sequence::Kind::kWellFormed ||
        character.code_point >= kMeaning.size() || kMeaning[character.code_point] == kNoByte) {
      out->resize(size_before);
      return false;
    }
    out->push_back(static_cast<char>(kMeaning[character.code_point]));
    text.remove_prefix(static_cast<size_t>(character.length));
  }
  return true;
}

std::string ByteLevelCharacter(unsigned char byte) {
  std::string character;
  AppendUtf8(kSpelling[byte], &character);
  return character;
}

}  // namespace skald::text
