#include "server/answer_source.h"

#include <openssl/sha.h>

#include <algorithm>
#include <string_view>

namespace skald::server {

namespace {

// What is hashed, so that no two sources come to the same bytes.
class Bytes {
 public:
  Bytes& Add(std::string_view text) {
    const uint64_t size = text.size();
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(size >> shift);
    bytes_ += text;
    return *this;
  }
  Bytes& Add(bool bit) {
    bytes_ += bit ? '\1' : '\0';
    return *this;
  }
  GrammarKey Hash() const {
    GrammarKey key;
    SHA256(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size(), key.data());
    return key;
  }

 private:
  std::string bytes_;
};

}  // namespace

bool AnswerSource::is_lenient() const {
  return !text && !must_call && !is_limited &&
         std::none_of(tools.begin(), tools.end(),
                      [](const ToolSource& tool) { return tool.is_strict; });
}

GrammarKey KeyOf(const AnswerSource& source) {
  Bytes bytes;
  bytes.Add(source.text.has_value()).Add(source.format.has_value()).Add(source.must_call);
  bytes.Add(source.is_limited).Add(source.one_call);
  bytes.Add(source.in_reasoning).Add(source.split_reasoning);
  if (source.text) {
    const GrammarSource& text = *source.text;
    const char kinds[] = {static_cast<char>(text.kind), static_cast<char>(text.options.mode)};
    bytes.Add({kinds, sizeof(kinds)}).Add(text.options.any_whitespace);
    bytes.Add(text.text).Add(PointerOf(text));
  }
  for (const ToolSource& tool : source.tools)
    bytes.Add(tool.name).Add(tool.schema).Add(tool.pointer).Add(tool.is_strict);
  return bytes.Hash();
}

int64_t BytesOf(const AnswerSource& source) {
  size_t bytes = source.text ? source.text->text.size() : 0;
  for (const ToolSource& tool : source.tools) bytes += tool.name.size() + tool.schema.size();
  return static_cast<int64_t>(bytes);
}

}  // namespace skald::server
