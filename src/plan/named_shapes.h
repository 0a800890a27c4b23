/// Shapes of published models: the members of their config.json that decide sizes.
#pragma once

#include <string_view>

#include "formats/metadata.h"
#include "plan/paper.h"
#include "skald/status.h"

namespace skald::plan {

/// What is known of a shape.
struct PublishedShape {
  std::string_view name;
  std::string_view source;
  PaperTypes types;
  formats::Metadata metadata;  ///< as of a GGUF file without a tokenizer
};

/// Errors: kNotFound, with the names there are.
Result<PublishedShape> FindPublishedShape(std::string_view name);

}  // namespace skald::plan
