#include "server/subkey.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"

namespace skald::server {

uint64_t Subkey(std::string_view secret, std::string_view purpose) {
  std::array<unsigned char, 32> code{};
  unsigned length = 0;
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), code.data(),
             &length) != nullptr);
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) number = number << 8 | code[i];
  return number;
}

}  // namespace skald::server
