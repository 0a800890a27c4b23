#include "server/template_variables.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "server/json_size.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr std::string_view kField = "chat_template_kwargs";

}  // namespace

json::object ReadTemplateVariables(Fields& fields) {
  const json::value* found = fields.Any(kField);
  if (found == nullptr) return {};
  const JsonSize size = SizeOf(*found);
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
