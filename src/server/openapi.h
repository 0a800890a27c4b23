/// /openapi.json: the routes, what they take and what they give, as OpenAPI 3.1 has it. Written
/// from the table of routes and the schemas below it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace skald::server {

/// A schema of JSON, by the name that rows of the table give.
struct NamedSchema {
  std::string_view name;
  std::string_view json;
};

/// Of requests and answers: their main members. Requests may have others, which docs/server.md
/// tells of; answers may get more.
std::span<const NamedSchema> OpenApiSchemas();

/// The document. `version` is skald's.
std::string OpenApiText(std::string_view version);

}  // namespace skald::server
