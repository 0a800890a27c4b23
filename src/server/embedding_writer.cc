#include "server/embedding_writer.h"

#include <openssl/evp.h>

#include <bit>
#include <span>
#include <utility>

#include "server/answer.h"
#include "skald/request.h"

namespace skald::server {

namespace {

std::string Base64(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "the lowest byte comes first");
  const auto bytes = std::as_bytes(values);
  // 4 characters for 3 bytes or a part of them, and a zero.
  std::vector<unsigned char> text((bytes.size() + 2) / 3 * 4 + 1);
  const int length =
      EVP_EncodeBlock(text.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  return {text.begin(), text.begin() + length};
}

void WriteVector(std::span<const float> values, VectorForm form, JsonWriter& json) {
  if (form == VectorForm::kBase64) {
    json.String(Base64(values));
    return;
  }
  json.BeginArray();
  for (const float value : values) json.Float(value);
  json.EndArray();
}

}  // namespace

int64_t EmbeddingBytes(VectorForm form, int64_t numbers) {
  // A float has up to 15 characters with its comma; in base64 it has 16 / 3.
  return numbers * (form == VectorForm::kBase64 ? 6 : 15);
}

std::vector<std::string> EmbeddingsJson(std::vector<std::vector<float>> vectors, VectorForm form) {
  std::vector<std::string> pieces;
  JsonWriter json;
  json.BeginArray();
  for (size_t index = 0; index < vectors.size(); ++index) {
    const std::vector<float> values = std::exchange(vectors[index], {});
    if (form == VectorForm::kBare) {
      WriteVector(values, form, json);
    } else {
      json.BeginObject().Key("object").String("embedding").Key("index").Uint(index);
      json.Key("embedding");
      WriteVector(values, form, json);
      json.EndObject();
    }
    if (json.size() >= Answer::kPieceBytes) pieces.push_back(json.TakePart());
  }
  json.EndArray();
  pieces.push_back(json.Take());
  return pieces;
}

std::string_view EmbeddingWriter::opening() const { return R"({"object":"list","data":)"; }

std::vector<std::string> EmbeddingWriter::List(std::vector<std::vector<float>> vectors) const {
  return EmbeddingsJson(std::move(vectors), form_);
}

void EmbeddingWriter::AddMembers(const VectorFrame& frame, JsonWriter& json) const {
  AddModel(frame, json);
  json.Key("pooling").String(PoolingName(pooling_));
  AddUsage(frame, json);
}

}  // namespace skald::server
