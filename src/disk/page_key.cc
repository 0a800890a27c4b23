#include "disk/page_key.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/sha256.h"

namespace skald::disk {
namespace {

PageKey KeyOf(Sha256* hash) {
  PageKey key;
  const std::string bytes = hash->TakeBytes();
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

}  // namespace

PageKey IdentityKey(std::string_view identity) {
  Sha256 hash;
  hash.Add(identity);
  return KeyOf(&hash);
}

PageKey FirstKey(const PageKey& identity, uint64_t space) {
  Sha256 hash;
  hash.Add("skald pages 1\n");
  hash.Add(identity.view());
  hash.Add({reinterpret_cast<const char*>(&space), sizeof(space)});
  return KeyOf(&hash);
}

PageKey NextKey(const PageKey& before, std::span<const TokenId> tokens) {
  static_assert(sizeof(TokenId) == 4);
  CHECK(tokens.size() == static_cast<size_t>(kKeyTokens));
  Sha256 hash;
  hash.Add(before.view());
  hash.Add({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()});
  return KeyOf(&hash);
}

}  // namespace skald::disk
