#include "grammar/key_rules.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "grammar/containers.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

constexpr uint64_t kEndless = Object::kEndless;

uint64_t Add(uint64_t a, uint64_t b) { return a > kEndless - b ? kEndless : a + b; }

}  // namespace

ObjectRun KeyRules::Copy(const ObjectRun* run) const {
  if (run != nullptr) return *run;
  return {.missing = object_.named - object_.declared};
}

bool KeyRules::RemembersKeys() const { return object_.members.size() > object_.declared; }

bool KeyRules::Fits(uint32_t member) const {
  const uint32_t depth = form_.depths[object_.members[member].rule];
  return depth != Form::kNever && depth + depth_ <= kTextDepthMax;
}

uint64_t KeyRules::Slack(const ObjectRun& run) const {
  if (object_.max == kUnbounded) return kEndless;
  const uint64_t taken = uint64_t{run.members} + object_.required_from[run.next] + run.missing;
  return taken >= object_.max ? 0 : object_.max - taken;
}

uint64_t KeyRules::FreeLeft(const ObjectRun& run, uint32_t state, const KeyText* key) const {
  const uint64_t all = object_.free_keys[state];
  const uint64_t used = run.used == nullptr ? 0 : run.used->size();
  if (all == kEndless || used == 0) return all;
  uint64_t below = used;
  if (key != nullptr) {
    if (all > used) return all - used;  // no fewer: exact numbers matter only below
    below = 0;
    run.used->ForEach([&](const UsedKey& one) { below += BeginsWith(one.key.get(), key) ? 1 : 0; });
  }
  return all > below ? all - below : 0;
}

bool KeyRules::MayTakeDeclared(const ObjectRun& run, uint32_t member) const {
  const Member& declared = object_.members[member];
  if (member < run.next || member > object_.next_required[run.next] || !Fits(member)) return false;
  if (!declared.required && Slack(run) == 0) return false;
  if (object_.min <= run.members + 1) return true;
  uint64_t left = FreeLeft(run, 0, nullptr);
  for (uint32_t i = member + 1; i < object_.declared && left < object_.min; ++i)
    left += Fits(i) ? 1 : 0;
  return Add(run.members + 1, left) >= object_.min;
}

// Whether the keys that are not declared may begin, or go on.
bool KeyRules::MayTakeFree(const ObjectRun& run) const {
  if (object_.next_required[run.next] < object_.declared) return false;
  if (Slack(run) == 0 && run.missing == 0) return false;
  return Add(run.members, FreeLeft(run, 0, nullptr)) >= object_.min;
}

bool KeyRules::IsUsed(const ObjectRun& run, uint32_t member) const {
  bool used = false;
  if (run.used != nullptr)
    run.used->ForEach([&](const UsedKey& one) { used |= one.member == member; });
  return used;
}

bool KeyRules::IsTooLong(const KeyText* key) const {
  return object_.is_bare && key != nullptr && key->length > kBareKeyBytesMax;
}

bool KeyRules::FreeMayFollow(const ObjectRun& run, uint32_t state, const KeyText* key) const {
  if (object_.free_keys[state] == 0 || IsTooLong(key) || !MayTakeFree(run)) return false;
  if (Slack(run) > 0) return FreeLeft(run, state, key) > 0;
  // Only what is required fits.
  return std::any_of(
      object_.reach[state].begin(), object_.reach[state].end(),
      [&](uint32_t member) { return member >= object_.declared && !IsUsed(run, member); });
}

bool KeyRules::MayGoOn(const ObjectRun* run, uint32_t state, const KeyText* key) const {
  const ObjectRun now = Copy(run);
  const std::vector<uint32_t>& reach = object_.reach[state];
  auto member = std::lower_bound(reach.begin(), reach.end(), now.next);
  for (; member != reach.end() && *member < object_.declared; ++member) {
    if (*member > object_.next_required[now.next]) break;
    if (MayTakeDeclared(now, *member)) return true;
  }
  return FreeMayFollow(now, state, key);
}

bool KeyRules::TakesFreeKeys(const ObjectRun* run) const {
  const ObjectRun now = Copy(run);
  return MayTakeFree(now) && Slack(now) > 0;
}

bool KeyRules::MayHaveKey(const ObjectRun* run) const { return MayGoOn(run, 0, nullptr); }

bool KeyRules::MayEnd(const ObjectRun* run, uint32_t member, const KeyText* key) const {
  const ObjectRun now = Copy(run);
  if (member < object_.declared) return MayTakeDeclared(now, member);
  if (!Fits(member) || IsTooLong(key) || !MayTakeFree(now)) return false;
  if (Slack(now) == 0 && member >= object_.named) return false;
  return now.used == nullptr || !now.used->Has(key);
}

bool KeyRules::MayClose(const ObjectRun* run) const {
  const ObjectRun now = Copy(run);
  return object_.next_required[now.next] >= object_.declared && now.missing == 0 &&
         now.members >= object_.min;
}

std::shared_ptr<const ObjectRun> KeyRules::WithKey(const ObjectRun* run, KeyPointer key) const {
  ObjectRun now = Copy(run);
  now.key = std::move(key);
  return std::make_shared<const ObjectRun>(std::move(now));
}

std::shared_ptr<const ObjectRun> KeyRules::WithMember(const ObjectRun* run, uint32_t member,
                                                      KeyPointer key) const {
  ObjectRun now = Copy(run);
  now.key = nullptr;
  ++now.members;
  if (member < object_.declared) {
    now.next = member + 1;
  } else {
    now.next = object_.declared;
    if (member < object_.named) --now.missing;
    const UsedKeys before = now.used == nullptr ? UsedKeys() : *now.used;
    now.used = std::make_shared<const UsedKeys>(before.With({std::move(key), member}));
  }
  return std::make_shared<const ObjectRun>(std::move(now));
}

}  // namespace skald::grammar
