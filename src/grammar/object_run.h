/// ObjectRun: what an object of a JSON text has so far. Immutable; the next one shares its parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace skald::grammar {

/// A key as it is spelled, or the beginning of one: its last byte and what stands before.
struct KeyText {
  std::shared_ptr<const KeyText> before;
  char byte;
  uint32_t length;
  uint64_t hash;  ///< of all bytes

  KeyText(std::shared_ptr<const KeyText> front, char last);
  /// Without recursion: a key may be as long as the text.
  ~KeyText();
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
};

using KeyPointer = std::shared_ptr<const KeyText>;

/// Whether two keys are the same. Compares the bytes only where the hashes are equal.
bool SameKey(const KeyText* a, const KeyText* b);

/// Whether `key` begins with the bytes of `beginning`, which has some. Goes back from its end.
bool BeginsWith(const KeyText* key, const KeyText* beginning);

/// A key that is not declared and came.
struct UsedKey {
  KeyPointer key;
  uint32_t member;  ///< of the object
};

/// The keys that came: lists sorted by their hashes, each more than twice as long as the next one.
/// To add one costs O(log n) on the average, to look for one O(log^2 n): a text of many keys takes
/// time in proportion to it, but for these. After P. O'Neil and others, "The Log-Structured
/// Merge-Tree", 1996.
class UsedKeys {
 public:
  /// With one more.
  UsedKeys With(UsedKey key) const;
  bool Has(const KeyText* key) const;
  uint64_t size() const;

  /// Calls `visit` with each of them, in any order.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const std::shared_ptr<const List>& list : lists_)
      for (const UsedKey& key : *list) visit(key);
  }

 private:
  using List = std::vector<UsedKey>;
  std::vector<std::shared_ptr<const List>> lists_;
};

struct ObjectRun {
  uint32_t next = 0;     ///< the first declared member that may still come
  uint32_t members = 0;  ///< how many came
  uint32_t missing = 0;  ///< required ones that are not declared
  std::shared_ptr<const UsedKeys> used = nullptr;
  KeyPointer key = nullptr;  ///< the key that is being written, if one not declared may come

  /// How many keys came that are not declared.
  uint64_t used_count() const { return used == nullptr ? 0 : used->size(); }

  /// How many of them begin as the key that is being written, or more: what may follow its
  /// beginning they alone take away. Of very many nobody looks.
  uint64_t UsedBelow() const;

  /// Whether the same members came.
  bool IsSameButForKey(const ObjectRun& other) const {
    return next == other.next && members == other.members && missing == other.missing &&
           used == other.used;
  }
};

}  // namespace skald::grammar
