/// Sha256: FIPS 180-4, by OpenSSL. Names files as a hub does, models, and what was computed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace skald {

class Sha256 {
 public:
  Sha256();
  void Add(std::string_view bytes);
  /// 64 digits. Nothing may be added after.
  std::string Take();
  /// The same as 32 bytes.
  std::string TakeBytes();

 private:
  std::shared_ptr<void> context_;  // EVP_MD_CTX
};

}  // namespace skald
