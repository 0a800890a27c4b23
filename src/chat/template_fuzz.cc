// Renders arbitrary templates with arbitrary variables. Oracles: rendering is deterministic, errors
// included; the ranges of the template's bytes are in order and inside the text; text of the
// variables is never among them; time and memory are within what the budget was charged.
//
// Input: a JSON object of variables, a zero byte, and the source of the template. What is no JSON
// becomes the text of the variable x. In it each letter is made one that no source can spell. What
// is short to write and long to handle is there as well: `long`, 64 KB of that text, `unicode`, of
// other characters, `many`, a list, and `table`, a dictionary, of 2,000.

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "chat/parser.h"
#include "chat/rendering.h"
#include "support/cost.h"

namespace {

constexpr std::chrono::local_seconds kNow{std::chrono::seconds{1783177567}};
// Small, so that an input takes milliseconds; what is out of proportion shows as well.
constexpr int64_t kSteps = 200'000;
constexpr int64_t kBytes = 16 << 20;
constexpr double kSecondsPerStep = 40e-6;  // with the sanitizers, on a busy machine
constexpr double kSecondsBase = 0.5;
constexpr size_t kLongBytes = 64 << 10;
constexpr int kManyItems = 2000;
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
  std::string repeated;
  std::string unicode;
  while (repeated.size() < kLongBytes) repeated += data + "\n";
  while (unicode.size() < kLongBytes) unicode += "\xC3\xA9 \xF0\x9F\x98\x80\xE4\xB8\xAD\n";
  boost::json::array many;
  boost::json::object table;
  for (int i = 0; i < kManyItems; ++i) {
    many.emplace_back(i * 7919 % kManyItems);
    table[std::to_string(i)] = i;
  }
  variables["long"] = repeated;
  variables["unicode"] = unicode;
  variables["many"] = std::move(many);
  variables["table"] = std::move(table);
  return variables;
}

struct Rendering {
  skald::Result<skald::RenderedPrompt> prompt;
  int64_t steps;
};

Rendering Render(const skald::chat::SyntaxTree& tree, const boost::json::object& variables) {
  skald::chat::Budget budget(kSteps, kBytes);
  const skald::ChatTokens tokens{.bos = "<s>", .eos = "</s>"};
  auto prompt = skald::chat::RenderTree(tree, tokens, {variables, kNow}, budget);
  return {std::move(prompt), budget.steps_used()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  const std::string_view source = cut == std::string_view::npos ? input : input.substr(cut + 1);
  const auto tree = skald::chat::Parse(source.substr(0, skald::ChatTemplate::kMaxSourceBytes));
  if (!tree.ok()) {
    CHECK(!tree.status().message().empty());
    return 0;
  }
  const boost::json::object variables =
      Variables(cut == std::string_view::npos ? "" : input.substr(0, cut));
  std::optional<Rendering> first;
  const skald::test::Cost cost =
      skald::test::CostOf([&] { first.emplace(Render(*tree, variables)); });
  CHECK(cost.peak_bytes < 2 * kBytes);
  CHECK(cost.cpu_seconds < kSecondsBase + kSecondsPerStep * static_cast<double>(first->steps));
  const Rendering second = Render(*tree, variables);
  const auto& once = first->prompt;
  const auto& again = second.prompt;
  CHECK(first->steps == second.steps);
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
