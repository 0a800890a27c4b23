// Reads a damaged charsmap and normalizes a text with it. Oracles: what is accepted is bounded as
// it promises, every walk ends, and the tokenizer around it gives ids of its vocabulary.
//
// Input: byte 0 the number of damages, each of them two bytes of place and one of value; the rest
// is the text.

#include <string>
#include <string_view>

#include "base/check.h"
#include "skald/tokenizer.h"
#include "text/charsmap.h"
#include "text/charsmap_builder.h"
#include "text/fuzz_input.h"
#include "text/test_vocabs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skald::text::Charsmap;
  skald::text::FuzzInput input(data, size);
  std::string blob = skald::text::CharsmapBuilder()
                         .Add("a", "b")
                         .Add("abc", "cc")
                         .Add("\xC2\xA0", " ")
                         .Add("aa", "")
                         .Build();
  for (uint8_t damages = input.Byte(); damages > 0; --damages) {
    const size_t place = size_t{input.Byte()} << 8 | input.Byte();
    blob[place % blob.size()] = static_cast<char>(input.Byte());
  }
  const std::string_view text = input.Rest();
  const auto map = Charsmap::Create(blob);
  if (map.ok()) {
    for (size_t at = 0; at < text.size(); ++at) {
      const Charsmap::Match match = map->LongestPrefix(text.substr(at));
      CHECK(match.length <= Charsmap::kMaxKeyBytes && match.length <= text.size() - at);
      CHECK(match.replacement.size() <= Charsmap::kMaxReplacementBytes);
    }
  }
  skald::text::OwnedSpec owned = skald::text::SmallUnigram();
  owned.fields.precompiled_charsmap = blob;
  const auto tokenizer = skald::Tokenizer::Create(owned.spec());
  CHECK(tokenizer.ok() == map.ok());
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->Encode(text);
  CHECK(ids.ok());
  for (const skald::TokenId id : *ids) CHECK(tokenizer->Contains(id));
  return 0;
}
