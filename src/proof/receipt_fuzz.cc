// A receipt is a file from a stranger. One that is read is written as one that is read the same.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "skald/receipt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const skald::Result<skald::Receipt> receipt =
      skald::ParseReceipt({reinterpret_cast<const char*>(data), size});
  if (!receipt.ok()) {
    CHECK(receipt.status().message().starts_with("receipt: "));
    return 0;
  }
  const std::string text = skald::ReceiptJson(*receipt);
  const skald::Result<skald::Receipt> again = skald::ParseReceipt(text);
  CHECK(again.ok() && skald::ReceiptJson(*again) == text);
  return 0;
}
