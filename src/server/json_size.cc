#include "server/json_size.h"

#include <algorithm>

namespace skald::server {

namespace {

namespace json = boost::json;

void Add(const json::value& value, size_t depth, JsonSize& size) {
  ++size.values;
  size.depth = std::max(size.depth, depth);
  if (const json::string* text = value.if_string()) size.bytes += text->size();
  if (const json::array* list = value.if_array()) {
    for (const json::value& each : *list) Add(each, depth + 1, size);
  }
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      size.bytes += member.key().size();
      Add(member.value(), depth + 1, size);
    }
  }
}

}  // namespace

JsonSize SizeOf(const json::value& value) {
  JsonSize size;
  Add(value, 0, size);
  return size;
}

}  // namespace skald::server
