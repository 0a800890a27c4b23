// Builds a tokenizer from arbitrary bytes. Beyond not crashing: what is accepted must encode and
// decode, the ids it gives must lie in its vocabulary, and plain text must not become control
// tokens.
//
// Input: byte 0 flags, byte 1 pre-tokenizer and model, bytes 2-3 special ids, then records: a byte
// of kind (token type or merge, a length) and the text of that length. The rest is encoded. Time
// and memory of building it are in proportion to the input.

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "skald/tokenizer.h"
#include "support/cost.h"
#include "text/fuzz_input.h"
#include "text/test_vocabs.h"

namespace {

using skald::TokenId;

constexpr const char* kModels[] = {"", "gemma4", "t5", "bert"};  // "": as the flags say
constexpr const char* kPreTokenizers[] = {"gpt-2",  "llama-bpe", "qwen2", "default",
                                          "smollm", "tekken",    "",      "unknown"};
constexpr size_t kMaxRecords = 20'000;
// What a byte of a vocabulary may cost, and what an empty one takes: patterns and their code.
constexpr int64_t kMemoryPerByte = 64;
constexpr int64_t kMemoryBase = 8 << 20;
constexpr double kSecondsPerByte = 50e-6;
constexpr double kSecondsBase = 1;

skald::text::OwnedSpec ReadSpec(skald::text::FuzzInput* input) {
  const uint8_t flags = input->Byte();
  const uint8_t pre = input->Byte();
  skald::text::OwnedSpec owned;
  if ((flags & 2) != 0) {  // start from a good vocabulary and add to it
    owned =
        (flags & 1) != 0 ? skald::text::SmallSentencePiece() : skald::text::SmallByteLevel("gpt-2");
    if ((flags & 1) == 0) owned.fields.scores.resize(owned.tokens.size());
  }
  owned.fields.model = (flags & 1) != 0 ? "llama" : "gpt2";
  owned.fields.pre = kPreTokenizers[pre % 8];
  const std::string_view model = kModels[(pre >> 3) % 4];
  if (!model.empty()) {
    owned.fields.model = model;
    owned.fields.ids.unk = 0;
    owned.fields.strip_accents = (pre & 32) != 0;
    owned.fields.remove_extra_whitespaces = (pre & 64) != 0;
  }
  if ((flags & 4) != 0) owned.fields.add_space_prefix = (flags & 8) != 0;
  if ((flags & 16) != 0) owned.fields.add_bos = (flags & 8) != 0;
  if ((flags & 64) != 0) owned.fields.ids.bos = static_cast<int8_t>(input->Byte());
  if ((flags & 128) != 0) owned.fields.ids.unk = input->Word();
  for (size_t i = 0; i < kMaxRecords; ++i) {
    const uint8_t kind = input->Byte();
    if (kind == 0) break;
    // Longer ones than a byte can say: 31 and 16 times what follows.
    size_t length = kind >> 3;
    if (length == 31) length += 16 * size_t{input->Byte()};
    const std::string text(input->Bytes(length));
    if ((kind & 7) == 7) {
      owned.merges.push_back(text);
    } else {
      owned.Add(text, kind & 7, static_cast<float>(static_cast<int8_t>(kind)) / 16);
    }
  }
  if ((flags & 32) != 0) owned.fields.types.clear();
  return owned;
}

void CheckTokenizer(const skald::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.Encode(text, {.boundary = skald::BoundaryTokens::kNone});
  if (ids.ok()) {
    for (const TokenId id : *ids) {
      CHECK(tokenizer.Contains(id));
      CHECK(tokenizer.Type(id) != skald::TokenType::kControl || id == tokenizer.unk_id());
    }
    static_cast<void>(tokenizer.Decode(*ids));
  }
  const auto parsed = tokenizer.Encode(text, {.special = skald::SpecialTokens::kParse});
  CHECK(parsed.ok() || !ids.ok());
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view bytes = tokenizer.TokenBytes(id);
    if (bytes.empty()) continue;
    const TokenId found = tokenizer.FindToken(bytes);
    CHECK(tokenizer.Contains(found) && tokenizer.TokenBytes(found) == bytes);
    CHECK(tokenizer.EscapedToken(id).find('\n') == std::string::npos);
  }
  for (const TokenId id : tokenizer.end_of_generation_ids()) CHECK(tokenizer.Contains(id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::text::FuzzInput input(data, size);
  const skald::text::OwnedSpec owned = ReadSpec(&input);
  const skald::text::TokenizerSpec spec = owned.spec();
  std::optional<skald::Result<skald::Tokenizer>> created;
  const skald::test::Cost cost =
      skald::test::CostOf([&] { created.emplace(skald::Tokenizer::Create(spec)); });
  const skald::Result<skald::Tokenizer>& tokenizer = *created;
  CHECK(cost.peak_bytes < kMemoryPerByte * static_cast<int64_t>(size) + kMemoryBase);
  CHECK(cost.cpu_seconds < kSecondsBase + kSecondsPerByte * static_cast<double>(size));
  if (!tokenizer.ok()) {
    CHECK(!tokenizer.status().message().empty());
    return 0;
  }
  CheckTokenizer(*tokenizer, input.Rest());
  return 0;
}
