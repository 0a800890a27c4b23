/// The style of the page of `skald explain`: the four meanings of colour, light and dark, on paper.
#pragma once

#include <string_view>

namespace skald::explain {

/// Blue is input or cached, amber computed, green a result, purple an aggregate; grey is not there.
/// Each pair has a contrast of 4.5 at least. A grid of 8 pixels.
inline constexpr std::string_view kPageStyle = R"(
:root { color-scheme: light dark;
  --ink: #1b1f24; --paper: #ffffff; --rule: #d8dde3; --grey: #5c6670; --none: #f1f3f5;
  --blue: #1f5fbf; --blue-on: #e8f0fc; --amber: #8a5a00; --amber-on: #fdf1dc;
  --green: #17663a; --green-on: #e3f5ea; --purple: #6b3fa0; --purple-on: #f1eafa; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e6e9ed; --paper: #14171b; --rule: #3a4149; --grey: #a3adb8; --none: #1d2228;
  --blue: #8fb8f2; --blue-on: #1a2536; --amber: #e0b25c; --amber-on: #2b2418;
  --green: #7fd0a0; --green-on: #182a20; --purple: #bfa3e6; --purple-on: #251f30; } }
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
.sum { color: var(--purple); background: var(--purple-on); }
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
.page { margin: 0; }
.page ol { display: flex; flex-wrap: wrap; padding: 0; margin: 0; list-style: none; }
.page li { width: 16px; height: 16px; font: 10px/16px ui-monospace, monospace; text-align: center;
  border: 1px solid var(--paper); }
@media (min-width: 1200px) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media print { :root { color-scheme: light; } main { padding: 0; } details { break-inside: avoid; }
  .wide { overflow: visible; } }
@page { size: A4; margin: 16mm; }
)";

}  // namespace skald::explain
