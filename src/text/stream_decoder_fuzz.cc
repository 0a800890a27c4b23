// Decodes arbitrary ids as a stream and at once, and sends the text through a StopMatcher in
// arbitrary pieces. Oracles: the stream's pieces are well-formed UTF-8 and together the decoded
// whole; the matcher passes what a naive search says.
//
// Input: byte 0 options, byte 1 number of ids, two bytes each; then stop strings (a length and that
// many letters each).

#include <string>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "skald/tokenizer.h"
#include "text/fuzz_input.h"
#include "text/test_vocabs.h"

namespace {

using skald::TokenId;
using skald::Tokenizer;

const Tokenizer& SentencePiece() {
  static const Tokenizer tokenizer = *Tokenizer::Create(skald::text::SmallSentencePiece().spec());
  return tokenizer;
}
const Tokenizer& ByteLevel() {
  static const Tokenizer tokenizer =
      *Tokenizer::Create(skald::text::SmallByteLevel("gpt-2").spec());
  return tokenizer;
}

void CheckStops(const std::vector<std::string>& pieces, const std::vector<std::string>& stops) {
  auto matcher = skald::StopMatcher::Create(stops);
  if (!matcher.ok()) return;  // empty or ill-formed stop strings
  std::string text, passed;
  int stop_index = -1;
  for (const std::string& piece : pieces) {
    text += piece;
    const auto output = matcher->Push(piece);
    CHECK(stop_index < 0 || output.text.empty());
    passed += output.text;
    stop_index = output.stop_index;
  }
  passed += matcher->Flush();
  for (size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (size_t i = 0; i < stops.size(); ++i) {
      if (std::string_view(text).substr(0, end).ends_with(stops[i]) &&
          (best < 0 || stops[i].size() > stops[static_cast<size_t>(best)].size())) {
        best = static_cast<int>(i);
      }
    }
    if (best < 0) continue;
    CHECK(stop_index == best);
    CHECK(passed == text.substr(0, end - stops[static_cast<size_t>(best)].size()));
    return;
  }
  CHECK(stop_index == -1 && passed == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::text::FuzzInput input(data, size);
  const uint8_t flags = input.Byte();
  const Tokenizer& tokenizer = (flags & 1) != 0 ? SentencePiece() : ByteLevel();
  const skald::DecodeOptions options = {
      .control = (flags & 2) != 0 ? skald::ControlTokens::kShow : skald::ControlTokens::kHide,
      .from = (flags & 4) != 0 ? skald::DecodeFrom::kContinuation : skald::DecodeFrom::kStart};
  std::vector<TokenId> ids(input.Byte());
  for (TokenId& id : ids) {
    const uint8_t low = input.Byte();
    id = static_cast<int16_t>(low | input.Byte() << 8);
    if (id > 400) id &= 0xFF;
  }

  skald::StreamDecoder decoder(tokenizer, options);
  std::vector<std::string> pieces;
  std::string joined;
  for (const TokenId id : ids) {
    pieces.push_back(decoder.Push(id));
    CHECK(skald::WellFormedPrefix(pieces.back()) == pieces.back().size());
    joined += pieces.back();
  }
  pieces.push_back(decoder.Flush());
  joined += pieces.back();
  CHECK(joined == tokenizer.Decode(ids, options));

  std::vector<std::string> stops;
  while (!input.empty() && stops.size() < 8) {
    const size_t length = input.Byte() % 8;
    stops.emplace_back(input.Bytes(length));
  }
  CheckStops(pieces, stops);
  return 0;
}
