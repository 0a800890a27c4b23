// Renders arbitrary templates with arbitrary variables. Oracles: rendering is deterministic, errors
// included; the ranges of the template's bytes are in order and inside the text; text of the
// variables is never among them.
//
// Input: a JSON object of variables, a zero byte, and the source of the template. What is no JSON
// becomes the text of the variable x. In it each letter is made one that no source can spell.

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "skald/chat_template.h"

namespace {

constexpr std::chrono::local_seconds kNow{std::chrono::seconds{1783177567}};
constexpr char kDataOnly = '\x01';  // in a source it counts as no template: such inputs are skipped

boost::json::object Variables(std::string_view text) {
  boost::json::error_code error;
  boost::json::value parsed =
      boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  boost::json::object variables;
  if (!error && parsed.is_object()) variables = parsed.get_object();
  std::string data(text.substr(0, 256));
  for (char& c : data) c = c == ' ' || c == '\n' ? c : kDataOnly;
  variables["x"] = data;
  variables["messages"] =
      boost::json::array{boost::json::object{{"role", "user"}, {"content", data}},
                         boost::json::object{{"role", "assistant"}, {"content", nullptr}}};
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  const std::string_view source = cut == std::string_view::npos ? input : input.substr(cut + 1);
  const auto chat = skald::ChatTemplate::Create(source, {.bos = "<s>", .eos = "</s>"});
  if (!chat.ok()) {
    CHECK(!chat.status().message().empty());
    return 0;
  }
  const boost::json::object variables =
      Variables(cut == std::string_view::npos ? "" : input.substr(0, cut));
  const auto once = chat->Render(variables, kNow);
  const auto again = chat->Render(variables, kNow);
  CHECK(once.ok() == again.ok());
  if (!once.ok()) {
    CHECK(once.status().message() == again.status().message());
    return 0;
  }
  CHECK(once->text == again->text);
  const bool spelled = source.find(kDataOnly) != std::string_view::npos ||
                       source.find('\\') != std::string_view::npos;
  size_t end = 0;
  for (const skald::TextRange range : once->from_template) {
    CHECK(range.begin < range.end && range.end <= once->text.size());
    CHECK(range.begin > end || (range.begin == 0 && end == 0));
    end = range.end;
    const std::string_view trusted =
        std::string_view(once->text).substr(range.begin, range.end - range.begin);
    CHECK(spelled || trusted.find(kDataOnly) == std::string_view::npos);
  }
  return 0;
}
