#include "grammar/object_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skald::grammar {

namespace {

constexpr uint64_t kPrime = 0x100000001B3;  // FNV-1a, Fowler, Noll and Vo, 1991

bool ByHash(const UsedKey& a, const UsedKey& b) { return a.key->hash < b.key->hash; }

}  // namespace

KeyText::KeyText(std::shared_ptr<const KeyText> front, char last)
    : before(std::move(front)),
      byte(last),
      length(before == nullptr ? 1 : before->length + 1),
      hash(((before == nullptr ? 0 : before->hash) ^ static_cast<uint8_t>(last)) * kPrime) {}

KeyText::~KeyText() {
  KeyPointer link = std::move(before);
  // As far as nobody else holds the chain.
  while (link != nullptr && link.use_count() == 1) {
    KeyPointer next = std::move(const_cast<KeyText&>(*link).before);
    link = std::move(next);
  }
}

bool SameKey(const KeyText* a, const KeyText* b) {
  if (a->length != b->length || a->hash != b->hash) return false;
  for (; a != b; a = a->before.get(), b = b->before.get())
    if (a->byte != b->byte) return false;
  return true;
}

bool BeginsWith(const KeyText* key, const KeyText* beginning) {
  while (key != nullptr && key->length > beginning->length) key = key->before.get();
  return key != nullptr && SameKey(key, beginning);
}

UsedKeys UsedKeys::With(UsedKey key) const {
  UsedKeys more = *this;
  List list;
  list.push_back(std::move(key));
  while (!more.lists_.empty() && more.lists_.back()->size() <= 2 * list.size()) {
    const List& last = *more.lists_.back();
    List both;
    both.reserve(last.size() + list.size());
    std::merge(last.begin(), last.end(), list.begin(), list.end(), std::back_inserter(both),
               ByHash);
    list = std::move(both);
    more.lists_.pop_back();
  }
  more.lists_.push_back(std::make_shared<const List>(std::move(list)));
  return more;
}

bool UsedKeys::Has(const KeyText* key) const {
  for (const std::shared_ptr<const List>& list : lists_) {
    auto one =
        std::lower_bound(list->begin(), list->end(), key->hash,
                         [](const UsedKey& used, uint64_t hash) { return used.key->hash < hash; });
    for (; one != list->end() && one->key->hash == key->hash; ++one)
      if (SameKey(one->key.get(), key)) return true;
  }
  return false;
}

uint64_t UsedKeys::size() const {
  uint64_t size = 0;
  for (const std::shared_ptr<const List>& list : lists_) size += list->size();
  return size;
}

uint64_t ObjectRun::UsedBelow() const {
  constexpr uint64_t kLookedAt = 64;
  const uint64_t count = used_count();
  if (count == 0 || count > kLookedAt || key == nullptr) return count;
  uint64_t below = 0;
  used->ForEach([&](const UsedKey& one) { below += BeginsWith(one.key.get(), key.get()) ? 1 : 0; });
  return below;
}

}  // namespace skald::grammar
