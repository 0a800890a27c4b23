#include "proof/row_chain.h"

#include <bit>
#include <cstdint>

#include "base/sha256.h"

namespace skald::proof {

static_assert(std::endian::native == std::endian::little,
              "numbers are hashed as they lie in memory; a big-endian port swaps bytes here");

namespace {

template <typename T>
void Append(const T& number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

RowChain::RowChain() {
  Sha256 hash;
  hash.Add("skald receipt 1");
  digits_ = hash.Take();
}

std::string_view RowChain::Add(TokenId token, const TokenDraw& draw) {
  std::string row = digits_;
  Append(static_cast<int32_t>(token), &row);
  Append(draw.logit, &row);
  Append(draw.mass, &row);
  Append(draw.total, &row);
  Sha256 hash;
  hash.Add(row);
  digits_ = hash.Take();
  return std::string_view(digits_).substr(0, kLinkDigits);
}

}  // namespace skald::proof
