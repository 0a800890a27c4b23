/// JsonWriter: writes one JSON document (RFC 8259), compact, in one pass.
///
///     JsonWriter json;
///     json.BeginObject();
///     json.Key("text").String(text);
///     json.Key("tokens").BeginArray().Int(1).Int(2).EndArray();
///     json.EndObject();
///     console.Write(json.Take());
///
/// The output is always valid JSON and valid UTF-8, whatever the strings and numbers: ill-formed
/// UTF-8 becomes U+FFFD, NaN and infinity become null. Calls in an order that has no JSON form (a
/// value without a key inside an object, an End without its Begin) are bugs and CHECKed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald {

/// Appends `text` as it stands between the quotes of a JSON string: escaped, and with each
/// ill-formed sequence replaced by U+FFFD. For documents whose frame is known beforehand.
void AppendJsonText(std::string_view text, std::string* out);

/// See above. Not thread-safe. Every call appends to one string.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Begin('{', Scope::kObject); }
  JsonWriter& EndObject() { return End('}', Scope::kObject); }
  JsonWriter& BeginArray() { return Begin('[', Scope::kArray); }
  JsonWriter& EndArray() { return End(']', Scope::kArray); }

  /// The name of the next value. Only legal directly inside an object.
  JsonWriter& Key(std::string_view name);

  JsonWriter& String(std::string_view text);
  /// One string of two parts, of which the first is escaped already (AppendJsonText).
  JsonWriter& String(std::string_view escaped, std::string_view text);
  /// All 64 bits as digits. Readers that keep numbers as doubles lose what is beyond 2^53.
  JsonWriter& Int(int64_t number);
  JsonWriter& Uint(uint64_t number);
  /// The shortest digits that read back as the same double; null if not finite.
  JsonWriter& Double(double number);
  /// The shortest digits that read back as the same float; null if not finite.
  JsonWriter& Float(float number);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  /// A value that is JSON already: what another writer or a strict reader gave.
  JsonWriter& Json(std::string_view value);

  /// The document. Only legal when every Begin has its End. The writer is empty afterwards.
  std::string Take();
  /// What has been written since the last TakePart, for a document that goes out in pieces. The
  /// last piece is Take's.
  std::string TakePart() { return std::exchange(out_, {}); }
  /// Bytes that TakePart would give.
  size_t size() const { return out_.size(); }

 private:
  enum class Scope : uint8_t { kObject, kArray };
  struct Open {
    Scope scope;
    bool empty = true;
    bool has_key = false;  // objects: a key was written and waits for its value
  };

  JsonWriter& Begin(char bracket, Scope scope);
  JsonWriter& End(char bracket, Scope scope);
  // Writes the comma a value needs, and checks that a value may stand here.
  void BeforeValue();
  void Quote(std::string_view text);

  std::string out_;
  std::vector<Open> open_;
};

}  // namespace skald
