#include "server/cache_places.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace skald::server {

namespace {

namespace json = boost::json;

// Each costs two renderings of a conversation, and a client may mark every block of it.
constexpr size_t kMostMarks = 8;
// Tokens that a template writes around a message: behind a control token nothing is joined.
constexpr size_t kAround = 8;

// Renders the first messages of a conversation, fewer each time: so one copy of it does.
class Fronts {
 public:
  Fronts(const RenderedChat& rendered, StopCheck stop)
      : rendered_(rendered), variables_(rendered.variables), stop_(stop) {
    variables_["add_generation_prompt"] = false;
  }

  // Some templates tell nothing without a user.
  std::optional<std::string> TextOf(size_t messages) {
    json::array& list = variables_.at("messages").as_array();
    list.erase(list.begin() + static_cast<ptrdiff_t>(messages), list.end());
    if (auto text = Render()) return text;
    list.push_back(json::object{{"role", "user"}, {"content", "."}});
    return Render();
  }

 private:
  std::optional<std::string> Render() const {
    if (stop_()) return std::nullopt;
    Result<RenderedPrompt> text = rendered_.chat.Render(variables_, rendered_.now, stop_);
    if (!text.ok()) return std::nullopt;
    return std::move(text->text);
  }

  const RenderedChat& rendered_;
  json::object variables_;
  const StopCheck stop_;
};

// The most leading tokens whose text, and what may be joined with it, are within `bytes`.
int64_t TokensWithin(const RenderedChat& rendered, size_t bytes) {
  const std::vector<TokenId>& tokens = rendered.prompt.tokens;
  size_t count = 0;
  size_t sum = 0;
  while (count < tokens.size()) {
    sum += rendered.tokenizer.TokenBytes(tokens[count]).size();
    if (sum > bytes) break;
    ++count;
  }
  for (size_t back = 0; back < std::min(count, kAround); ++back) {
    if (rendered.tokenizer.IsControl(tokens[count - 1 - back]))
      return static_cast<int64_t>(count - back);
  }
  return static_cast<int64_t>(count) - 1;
}

}  // namespace

std::vector<size_t> MarkedFronts(const json::array& messages, std::vector<size_t> marked) {
  const auto is_of_system = [](const json::value& message) {
    const json::value& role = message.at("role");
    return role == "system" || role == "developer";
  };
  const auto end = std::find_if_not(messages.begin(), messages.end(), is_of_system);
  marked.push_back(static_cast<size_t>(end - messages.begin()));
  std::sort(marked.begin(), marked.end());
  marked.erase(std::unique(marked.begin(), marked.end()), marked.end());
  std::erase_if(marked, [&](size_t count) { return count == 0 || count >= messages.size(); });
  return marked;
}

std::vector<int64_t> PlacesOf(const RenderedChat& rendered, std::span<const size_t> messages,
                              StopCheck stop) {
  const std::string_view whole = rendered.prompt.text;
  Fronts fronts(rendered, stop);
  std::vector<int64_t> places;
  auto next = static_cast<int64_t>(rendered.prompt.tokens.size());
  for (size_t i = messages.size(); i-- > 0;) {
    const bool counts = i == 0 || i + kMostMarks > messages.size();
    if (!counts) continue;
    const std::optional<std::string> front = fronts.TextOf(messages[i]);
    if (!front) continue;
    const auto parts = std::mismatch(whole.begin(), whole.end(), front->begin(), front->end());
    const int64_t place = TokensWithin(rendered, static_cast<size_t>(parts.first - whole.begin()));
    if (place <= 0 || place >= next) continue;
    places.push_back(place);
    next = place;
  }
  std::reverse(places.begin(), places.end());
  return places;
}

}  // namespace skald::server
