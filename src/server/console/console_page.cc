#include "server/console/console_page.h"

#include <string>
#include <string_view>

#include "explain/page_style.h"
#include "server/console/console_files.h"  // written by the build, from page/
#include "server/route_table.h"

namespace skald::server {

namespace {

// Scripts, styles and pictures of this server only, whatever a text that is shown contains; and no
// other site's page around it, which could lead clicks astray.
constexpr std::string_view kPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// What the build has put into the program.
std::string BodyOf(Route route) {
  switch (route) {
    // One style for all pages, and what only this one has.
    case Route::kConsoleStyle: return explain::PageStyle() + std::string(kConsoleStyle);
    case Route::kConsoleScript: return std::string(kConsoleScript);
    case Route::kConsoleFigures: return std::string(kConsoleFigures);
    case Route::kConsoleChat: return std::string(kConsoleChat);
    case Route::kConsoleIcon: return std::string(kConsoleIcon);
    default: return std::string(kConsoleHtml);
  }
}

}  // namespace

HttpResponse ConsolePage(Route route) {
  return {.content_type = std::string(RowOf(route).media) + "; charset=utf-8",
          .fields = {{"content-security-policy", std::string(kPolicy)},
                     {"referrer-policy", "no-referrer"},
                     {"cross-origin-opener-policy", "same-origin"}},
          .body = BodyOf(route)};
}

}  // namespace skald::server
