#include "server/template_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr std::string_view kField = "chat_template_kwargs";

// What values cost a template to hold.
struct Size {
  size_t values = 0;
  size_t bytes = 0;
  size_t depth = 0;
};

// Stops at the bound on depth, so it does not need a deep stack itself.
void Add(const json::value& value, size_t depth, Size& size) {
  ++size.values;
  size.depth = std::max(size.depth, depth);
  if (depth > kMaxTemplateDepth) return;
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

json::object ReadTemplateVariables(Fields& fields) {
  const json::value* found = fields.Any(kField);
  if (found == nullptr) return {};
  Size size;
  Add(*found, 0, size);
  if (found->is_object() && size.values <= kMaxTemplateValues && size.depth <= kMaxTemplateDepth &&
      size.bytes <= kMaxTemplateBytes)
    return found->get_object();
  fields.Fail(BadRequest(
      std::string(kField),
      fmt::format("{} is {}, expected an object with at most {} values, {} levels and {} bytes of "
                  "text in it",
                  kField, Shown(*found), kMaxTemplateValues, kMaxTemplateDepth,
                  kMaxTemplateBytes)));
  return {};
}

}  // namespace skald::server
