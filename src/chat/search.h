/// Needle: a text to search for in others.
#pragma once

#include <cstddef>
#include <string_view>

namespace skald::chat {

/// Finds one text in others in linear time, whatever both hold, without memory of its own: the
/// two-way algorithm. `needle` is not empty and outlives the object. Making one is linear, too.
/// Source: Crochemore and Perrin, "Two-way string-matching", JACM 38 (1991).
class Needle {
 public:
  explicit Needle(std::string_view needle);

  /// First place in `text` at or after `from`, or npos.
  size_t Find(std::string_view text, size_t from) const;
  /// Last place in `text`, or npos.
  size_t FindLast(std::string_view text) const;

 private:
  // Where a needle is cut so that a mismatch on either side says how far to go, and how far a match
  // of the right side alone can be moved.
  struct Cut {
    size_t left;    // bytes of the left side
    size_t period;  // of the whole needle, if `periodic`; else a safe shift
    bool periodic;
  };
  template <typename Bytes>
  static size_t MaximalSuffix(Bytes needle, size_t* period);
  template <typename Bytes>
  static Cut CutOf(Bytes needle);
  template <typename Bytes>
  static size_t Search(Bytes text, Bytes needle, const Cut& cut);

  std::string_view needle_;
  Cut forward_;
  Cut backward_;  // of the needle read from its end
};

}  // namespace skald::chat
