#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "skald/hub.h"

namespace skald {
namespace {

constexpr std::string_view kForms =
    "expected hf://owner/name, hf://owner/name:Q4_K_M, hf://owner/name@revision, or "
    "https://host/path/file.gguf";
// No name of Hugging Face is longer (96 each), no address that means a model either.
constexpr size_t kLongest = 2048;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// A name becomes a folder: nothing that leads out of the cache.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 96 && text.front() != '.' && text.front() != '-' &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// A branch, a commit, a quantization, or a path in the repository.
bool IsPath(std::string_view text) {
  return !text.empty() && text.front() != '/' && text.back() != '/' &&
         text.find("..") == std::string_view::npos && text.find("//") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsNameCharacter(c) || c == '/'; });
}

Status BadReference(std::string_view text) {
  std::string message("'");
  message.append(text.substr(0, 200)).append("' names no model; ").append(kForms);
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

Result<ModelReference> ParseRepository(std::string_view text, std::string_view whole) {
  ModelReference reference;
  reference.revision = "main";
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    reference.choice = text.substr(colon + 1);
    if (!IsPath(reference.choice)) return BadReference(whole);
    text = text.substr(0, colon);
  }
  const size_t at = text.find('@');
  if (at != std::string_view::npos) {
    reference.revision = text.substr(at + 1);
    if (!IsPath(reference.revision)) return BadReference(whole);
    text = text.substr(0, at);
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return BadReference(whole);
  reference.owner = text.substr(0, slash);
  reference.name = text.substr(slash + 1);
  if (!IsName(reference.owner) || !IsName(reference.name)) return BadReference(whole);
  return reference;
}

// "Qwen/Qwen3-0.6B-GGUF/resolve/main/q.gguf", as the site's own links have it.
Result<ModelReference> ParseSitePath(std::string_view path, std::string_view whole) {
  path = path.substr(0, path.find('?'));
  for (const std::string_view verb : {"/resolve/", "/blob/", "/tree/"}) {
    const size_t at = path.find(verb);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + verb.size());
    const size_t slash = rest.find('/');
    std::string form(path.substr(0, at));
    form.append("@").append(rest.substr(0, slash));
    if (slash != std::string_view::npos) form.append(":").append(rest.substr(slash + 1));
    return ParseRepository(form, whole);
  }
  return ParseRepository(path, whole);
}

}  // namespace

Result<ModelReference> ParseModelReference(std::string_view text) {
  const std::string_view whole = text;
  if (text.size() > kLongest) return BadReference(whole);
  if (text.starts_with("hf://")) return ParseRepository(text.substr(5), whole);
  const bool is_address = text.starts_with("https://") || text.starts_with("http://");
  std::string_view site = is_address ? text.substr(text.find("//") + 2) : text;
  for (const std::string_view host : {"hf.co/", "huggingface.co/"}) {
    if (site.starts_with(host)) return ParseSitePath(site.substr(host.size()), whole);
  }
  if (!is_address) return ParseRepository(text, whole);
  const std::string_view path = site.substr(0, site.find_first_of("?#"));
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  if (!is_plain || !path.ends_with(".gguf") || path.find('/') == std::string_view::npos ||
      !IsPath(path.substr(path.rfind('/') + 1))) {
    return BadReference(whole);
  }
  ModelReference reference;
  reference.url = text;
  return reference;
}

std::string ToText(const ModelReference& reference) {
  if (!reference.url.empty()) return reference.url;
  std::string text = "hf://" + reference.owner + "/" + reference.name;
  if (reference.revision != "main") text += "@" + reference.revision;
  if (!reference.choice.empty()) text += ":" + reference.choice;
  return text;
}

}  // namespace skald
