/// JsonTree: a JSON document of an untrusted file, of any size, as a table of values.
///
/// A vocabulary is an object of 262,144 names, the header of a large model one of 70,000. Usual
/// libraries put names into a hash table, which the author of a file can make collide. Here the
/// members of an object are a list in the order of the document: reading is linear in its bytes,
/// and nothing is looked up unless somebody asks (Find, linear in the members of that object).
///
/// RFC 8259, strictly, at most kJsonTreeDepth deep (or JsonTreeOptions::depth) and of at most
/// kJsonTreeValues values. Of equal names Find gives the first. Memory: 24 bytes a value, while it
/// grows three times as many, and the texts once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald {

inline constexpr size_t kJsonTreeDepth = 32;
/// Largest seen: 2 million (Gemma 3's tokenizer.json).
inline constexpr size_t kJsonTreeValues = size_t{1} << 23;

/// How a document is read.
struct JsonTreeOptions {
  size_t depth = kJsonTreeDepth;
  /// Keeps the texts of numbers with a fraction or exponent, and of those beyond 64 bits, for
  /// JsonValue::NumberText.
  bool number_texts = false;
};

class JsonTree;

enum class JsonKind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

/// One value. A view: valid as long as its tree.
class JsonValue {
 public:
  JsonKind kind() const;
  bool IsObject() const { return kind() == JsonKind::kObject; }
  bool IsArray() const { return kind() == JsonKind::kArray; }
  bool IsString() const { return kind() == JsonKind::kString; }

  /// Its place among all values of the document, in their order: 0 is the root.
  uint32_t index() const { return index_; }

  /// As a member of an object, its name; else empty.
  std::string_view name() const;

  /// The value, where it is of that kind: a number without a fraction counts as both kinds of
  /// number if it is exact, an integer beyond 64 signed bits as a double only.
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  std::optional<double> AsNumber() const;
  std::optional<std::string_view> AsString() const;
  /// A number as the document spells it, an integer of 64 bits in its shortest form; empty for
  /// other kinds, and where the texts were not kept.
  std::string NumberText() const;

  /// The first member of that name of an object; nothing for other kinds.
  std::optional<JsonValue> Find(std::string_view name) const;

  /// Members or elements; of other kinds there are none.
  class Iterator {
   public:
    JsonValue operator*() const { return JsonValue(*tree_, index_); }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class JsonValue;
    Iterator(const JsonTree& tree, uint32_t index) : tree_(&tree), index_(index) {}
    const JsonTree* tree_;
    uint32_t index_;
  };
  Iterator begin() const;
  Iterator end() const;
  /// How many of them. Linear.
  size_t size() const;

 private:
  friend class JsonTree;
  JsonValue(const JsonTree& tree, uint32_t index) : tree_(&tree), index_(index) {}

  const JsonTree* tree_;
  uint32_t index_;
};

/// A parsed document. Immutable; views into it end with it.
class JsonTree {
 public:
  /// Errors: kBadModel "no JSON at byte N: why", also for a document of 4 GiB and more.
  static Result<JsonTree> Parse(std::string_view text, const JsonTreeOptions& options = {});

  JsonValue root() const { return JsonValue(*this, 0); }

 private:
  friend class JsonValue;
  friend class JsonTreeHandler;

  struct Range {  // of texts_
    uint32_t begin;
    uint32_t bytes;
  };
  struct Node {
    JsonKind kind = JsonKind::kNull;
    uint32_t end = 0;  // the node after the last one inside of this
    Range name = {};
    union {  // by kind
      int64_t integer = 0;
      bool boolean;
      double number;
      Range text;
    };
  };

  std::string_view TextOf(Range range) const {
    return std::string_view(texts_).substr(range.begin, range.bytes);
  }

  std::vector<Node> nodes_;
  std::string texts_;
  struct NumberText {
    uint32_t node;
    Range text;
  };
  std::vector<NumberText> number_texts_;  // by node
};

}  // namespace skald
