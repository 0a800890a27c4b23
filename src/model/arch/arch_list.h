/// The families this version runs, one line each.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "model/arch/llama.h"
#include "model/arch/qwen2.h"
#include "model/arch/qwen3.h"

namespace skald::model {

inline constexpr std::array kFamilies = {&kLlama, &kQwen2, &kQwen3};

/// The family a file's general.architecture names, or nullptr.
inline const Family* FindFamily(std::string_view name) {
  for (const Family* family : kFamilies) {
    if (family->name == name) return family;
  }
  return nullptr;
}

/// "llama, qwen2, qwen3": for messages.
inline std::string FamilyNames() {
  std::string names;
  for (const Family* family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family->name;
  }
  return names;
}

}  // namespace skald::model
