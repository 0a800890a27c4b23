#include <fmt/format.h>

#include <algorithm>

#include "explain/html.h"
#include "explain/page_parts.h"
#include "explain/page_style.h"
#include "skald/explain.h"

namespace skald {
namespace {

using explain::HtmlCount;
using explain::HtmlText;

// Nothing is fetched and nothing runs, whatever stands in the page.
constexpr std::string_view kPolicy = "default-src 'none'; style-src 'unsafe-inline'";

std::string HeadOf(const Explanation& explanation) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<title>skald explain: {}</title>\n<style>{}</style>\n</head>\n",
      kPolicy, HtmlText(explanation.model.name), explain::PageStyle());
}

std::string IntroductionOf(const Explanation& explanation) {
  const int64_t drawn = std::ssize(explanation.tokens) - explanation.prompt_tokens;
  return fmt::format(
      "<h1>{} in, {} out, in {}</h1>\n<p>{}, {} {}; {}, {}; seed {}.</p>\n"
      "<p class=\"key\"><span class=\"cached\">input or cached</span>"
      "<span class=\"computed\">computed</span><span class=\"drawn\">result</span>"
      "<span class=\"sum\">sum of others</span><span class=\"free\">cut or free</span></p>\n",
      HtmlCount(explanation.prompt_tokens, "token"), HtmlCount(drawn, "token"),
      HtmlCount(std::ssize(explanation.steps), "step"), HtmlText(explanation.model.name),
      HtmlText(explanation.model.architecture), HtmlText(explanation.model.weights_type),
      HtmlCount(explanation.threads, "thread"), HtmlText(explanation.isa),
      explanation.sampling.seed);
}

}  // namespace

std::string ExplainPage(const Explanation& explanation, const std::string& command) {
  std::string page = HeadOf(explanation) + "<body>\n<main>\n" + IntroductionOf(explanation);
  page += explain::TokenSection(explanation);
  page += explain::ChoiceSection(explanation);
  page += explain::LensSection(explanation);
  page += explain::AttentionSection(explanation);
  page += explain::ExpertSection(explanation);
  page += explain::TreeSection(explanation);
  page += explain::ValueSection(explanation);
  page += explain::PageSection(explanation);
  page +=
      fmt::format("<footer><p>Made by <code>{}</code></p></footer>\n</main>\n", HtmlText(command));
  page += "<script type=\"application/json\" id=\"data\">" +
          explain::HtmlJson(ExplainJson(explanation)) + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace skald
