#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace skald {
namespace {

EVP_MD_CTX* Get(const std::shared_ptr<void>& context) {
  return static_cast<EVP_MD_CTX*>(context.get());
}

}  // namespace

Sha256::Sha256()
    : context_(EVP_MD_CTX_new(),
               [](void* context) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }) {
  CHECK(EVP_DigestInit_ex(Get(context_), EVP_sha256(), nullptr) == 1);
}

void Sha256::Add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(Get(context_), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::TakeBytes() {
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(Get(context_), digest.data(), &length) == 1);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string Sha256::Take() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : TakeBytes()) {
    const auto byte = static_cast<unsigned char>(each);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace skald
