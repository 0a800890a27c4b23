#include "explain/page_style.h"

#include <fmt/format.h>

#include <string_view>

#include "figure/palette.h"

namespace skald::explain {
namespace {

constexpr std::string_view kRules = R"(
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/24px system-ui, sans-serif; }
main { max-width: 1232px; margin: 0 auto; padding: 16px; }
h1 { font-size: 28px; line-height: 32px; } h2 { font-size: 20px; margin: 40px 0 8px; }
h3 { font-size: 15px; margin: 24px 0 8px; }
p { max-width: 72ch; } a { color: inherit; }
.small, footer, caption, summary { font-size: 13px; color: var(--grey); }
.strip { display: flex; flex-wrap: wrap; gap: 8px; padding: 0; list-style: none; }
.strip li { min-width: 0; max-width: 100%; }
.strip li > * { display: block; padding: 0 8px; border-radius: 4px; border: 1px solid currentcolor;
  text-decoration: none; overflow-wrap: anywhere; }
.token, td, th, .n { font-family: ui-monospace, monospace; font-variant-numeric: tabular-nums; }
.strip small { display: block; font-size: 13px; }
.cached, .shared, .copied { color: var(--blue); background: var(--blue-on); }
.computed { color: var(--amber); background: var(--amber-on); }
.drawn { color: var(--green); background: var(--green-on); }
:is(.strip, .tokens, .key) { --hue: var(--green); }
.strip .cached { --hue: var(--blue); } .strip .computed { --hue: var(--amber); }
:is(.strip, .tokens, .key) :is(.p0, .p1, .p2, .p3, .p4) { color: var(--ink);
  border-color: var(--hue); border-bottom: 1px solid var(--hue);
  background: color-mix(in srgb, var(--hue) 8%, var(--paper)); }
:is(.strip, .tokens, .key) .p1 { border-bottom-width: 2px;
  background: color-mix(in srgb, var(--hue) 16%, var(--paper)); }
:is(.strip, .tokens, .key) .p2 { border-bottom-width: 3px;
  background: color-mix(in srgb, var(--hue) 24%, var(--paper)); }
:is(.strip, .tokens, .key) .p3 { border-bottom-width: 4px;
  background: color-mix(in srgb, var(--hue) 32%, var(--paper)); }
:is(.strip, .tokens, .key) .p4 { border-bottom-width: 5px;
  background: color-mix(in srgb, var(--hue) 40%, var(--paper)); }
.sum { color: var(--purple); background: var(--purple-on); }
.page .hollow { border: 1px dashed var(--grey); color: var(--grey); }
.free { color: var(--grey); background: var(--none); }
.key span { display: inline-block; padding: 0 8px; border-radius: 4px; margin-right: 8px;
  white-space: nowrap; }
.wide { overflow-x: auto; max-width: 100%; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 13px; line-height: 20px; }
caption { text-align: left; }
th, td { text-align: left; padding: 0 8px; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
td.n, th.n { text-align: right; }
td.bar { min-width: 88px; position: relative; }
td.bar i { position: absolute; left: 0; bottom: 0; height: 4px; background: currentcolor; }
td.cut { color: var(--grey); background: var(--none); }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 24px; }
.pages { display: grid; grid-template-columns: repeat(auto-fill, minmax(264px, 1fr)); gap: 16px; }
.page { margin: 0; } .page p { margin: 0; }
.page ol { display: flex; flex-wrap: wrap; padding: 0; margin: 0; list-style: none; }
.page li { width: 16px; height: 16px; font: 10px/16px ui-monospace, monospace; text-align: center;
  border: 1px solid var(--paper); }
.map { display: block; font: .75px ui-monospace, monospace; fill: var(--ink); }
.map .paper, .small-maps .paper { fill: var(--none); }
.mean, .one { stroke: currentcolor; stroke-width: 1; }
.seen { stroke: var(--paper); stroke-width: 1; }
.mean { color: var(--purple); } .one { color: var(--amber); }
.h1 { stroke-opacity: .08; } .h2 { stroke-opacity: .17; } .h3 { stroke-opacity: .25; }
.h4 { stroke-opacity: .33; } .h5 { stroke-opacity: .42; } .h6 { stroke-opacity: .5; }
.h7 { stroke-opacity: .58; } .h8 { stroke-opacity: .67; } .h9 { stroke-opacity: .75; }
.h10 { stroke-opacity: .83; } .h11 { stroke-opacity: .92; }
.choice { display: none; } .choice:target, .choice:last-child { display: inline; }
.choice:target ~ .choice:last-child { display: none; }
.small-maps { display: flex; flex-wrap: wrap; gap: 16px; padding: 0; list-style: none;
  font-size: 13px; }
.small-maps svg { display: block; width: 96px; height: 96px; }
.bins { width: 128px; height: 16px; vertical-align: middle; }
.bins path { stroke: var(--amber); stroke-width: 3; }
figure { margin: 0; }
@media (min-width: 1200px) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media print { :root { color-scheme: light; } main { padding: 0; } details { break-inside: avoid; }
  .wide { overflow: visible; } }
@page { size: A4; margin: 16mm; }
)";

}  // namespace

// Paper is light, whatever the screen.
std::string PageStyle() {
  return fmt::format(
      "\n:root {{ color-scheme: light dark;{} }}\n"
      "@media screen and (prefers-color-scheme: dark) {{ :root {{{} }} }}{}",
      figure::kLightPalette, figure::kDarkPalette, kRules);
}

}  // namespace skald::explain
