/// KeyRules: which keys an object may still take.
#pragma once

#include <cstdint>
#include <memory>

#include "grammar/form.h"
#include "grammar/object_run.h"

namespace skald::grammar {

/// The questions that a text asks of an object at each byte of a key. A run is null before the
/// first member. Each is O(1), but for what may follow in a declared key (a binary search), and
/// where few keys are left of a finite number: then the keys that came are compared.
class KeyRules {
 public:
  /// `depth` is that of the object.
  KeyRules(const Form& form, const Object& object, uint32_t depth)
      : form_(form), object_(object), depth_(depth) {}

  const Object& object() const { return object_; }

  /// Whether keys that are not declared may come, so that each must be compared with the others.
  bool RemembersKeys() const;

  /// Whether the object may end here.
  bool MayClose(const ObjectRun* run) const;
  /// Whether another key may follow.
  bool MayHaveKey(const ObjectRun* run) const;
  /// Whether a key that has come to `state` with the text `key` can become one that may come.
  bool MayGoOn(const ObjectRun* run, uint32_t state, const KeyText* key) const;
  /// Whether a key of `member` may end with the text `key`.
  bool MayEnd(const ObjectRun* run, uint32_t member, const KeyText* key) const;

  /// Whether any key that is not declared may begin, or go on where their number is endless; of a
  /// bare object up to kBareKeyBytesMax bytes.
  bool TakesFreeKeys(const ObjectRun* run) const;

  /// `run` with another beginning of a key.
  std::shared_ptr<const ObjectRun> WithKey(const ObjectRun* run, KeyPointer key) const;
  /// `run` with one more member.
  std::shared_ptr<const ObjectRun> WithMember(const ObjectRun* run, uint32_t member,
                                              KeyPointer key) const;

 private:
  ObjectRun Copy(const ObjectRun* run) const;
  bool Fits(uint32_t member) const;
  // How many more keys than the required ones may come.
  uint64_t Slack(const ObjectRun& run) const;
  // Keys not declared that may still come, below `state` behind `key`.
  uint64_t FreeLeft(const ObjectRun& run, uint32_t state, const KeyText* key) const;
  bool MayTakeDeclared(const ObjectRun& run, uint32_t member) const;
  bool MayTakeFree(const ObjectRun& run) const;
  bool IsUsed(const ObjectRun& run, uint32_t member) const;
  bool IsTooLong(const KeyText* key) const;
  bool FreeMayFollow(const ObjectRun& run, uint32_t state, const KeyText* key) const;

  const Form& form_;
  const Object& object_;
  const uint32_t depth_;
};

}  // namespace skald::grammar
