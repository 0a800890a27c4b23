#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

namespace skald::server {

namespace {

constexpr size_t kKeyMin = 8;
constexpr size_t kKeyMax = 512;

ApiKeys::Hash Sha256(std::string_view bytes) {
  ApiKeys::Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  return hash;
}

bool IsKey(std::string_view text) {
  return text.size() >= kKeyMin && text.size() <= kKeyMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

ApiKeys::ApiKeys(std::string_view secret) : secret_(Sha256(secret)) {}

Result<ApiKeys> ApiKeys::Parse(std::string_view lines, std::string_view secret) {
  ApiKeys keys(secret);
  int64_t number = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (!IsKey(line)) {
      return Status(ErrorCode::kInvalidArgument, "line " + std::to_string(number) +
                                                     " is not a key of " + std::to_string(kKeyMin) +
                                                     " to " + std::to_string(kKeyMax) +
                                                     " visible ASCII characters");
    }
    keys.hashes_.push_back(Sha256(line));
  }
  if (keys.empty()) return Status(ErrorCode::kInvalidArgument, "there is no key in it");
  return keys;
}

std::optional<TenantId> ApiKeys::Find(std::string_view key) const {
  if (hashes_.empty()) return kEveryone;
  if (key.size() > kKeyMax) return std::nullopt;
  const Hash hash = Sha256(key);
  std::optional<TenantId> found;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (CRYPTO_memcmp(hashes_[i].data(), hash.data(), hash.size()) == 0)
      found = static_cast<TenantId>(i);
  }
  return found;
}

uint64_t ApiKeys::CacheNamespace(TenantId tenant, std::string_view salt) const {
  std::string input(reinterpret_cast<const char*>(secret_.data()), secret_.size());
  // Of fixed length, so that no tenant and salt together read like another pair.
  for (int shift = 0; shift < 64; shift += 8)
    input += static_cast<char>(static_cast<uint64_t>(tenant) >> shift);
  input += salt;
  const Hash hash = Sha256(input);
  uint64_t number = 0;
  std::memcpy(&number, hash.data(), sizeof(number));
  return number;
}

}  // namespace skald::server
