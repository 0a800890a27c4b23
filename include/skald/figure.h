/// Figure: series of numbers under axes, and texts as strips of tokens, as one SVG document.
///
///     Figure figure;
///     figure.title = "Work grows with the square of the text without a cache";
///     figure.panels = {{.title = "rows computed",
///                       .x = {.label = "tokens of the text"},
///                       .y = {.label = "rows", .scale = FigureScale::kLog},
///                       .series = {{.name = "cache", .points = {{1, 1}, {2, 2}, {3, 3}}},
///                                  {.name = "none",
///                                   .mark = FigureMark::kFault,
///                                   .points = {{1, 1}, {2, 3}, {3, 6}}}}}};
///     const std::string svg = FigureSvg(figure);
///
/// Colours mean what they mean everywhere in skald, and never stand alone: each kind of line has a
/// pattern of its own and a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skald/version.h"

namespace skald {

/// What a line, a bar or a token is.
enum class FigureMark : uint8_t {
  kInput,     ///< blue: given, or as it should be
  kComputed,  ///< amber: computed now
  kResult,    ///< green: what came out
  kSum,       ///< purple: an aggregate
  kFault,     ///< red: what somebody broke on purpose
  kNone,      ///< grey: not there
};

struct FigurePoint {
  double x = 0;
  double y = 0;  ///< not finite: the line has a gap there
};

struct FigureSeries {
  std::string name = {};
  FigureMark mark = FigureMark::kInput;
  std::vector<FigurePoint> points = {};  ///< by ascending x
};

enum class FigureScale : uint8_t { kLinear, kLog };

struct FigureAxis {
  std::string label = {};  ///< with the unit
  /// kLog shows numbers above 0 only.
  FigureScale scale = FigureScale::kLinear;
};

/// A place on the horizontal axis that has something to it.
struct FigurePlace {
  double x = 0;
  std::string label = {};
};

struct FigurePanel {
  std::string title = {};
  FigureAxis x = {};
  FigureAxis y = {};
  std::vector<FigureSeries> series = {};
  std::optional<FigurePlace> place = {};
};

/// A token of a strip.
struct FigureCell {
  std::string text = {};  ///< its bytes: not always whole characters
  FigureMark mark = FigureMark::kInput;
};

/// A text as the model sees it.
struct FigureStrip {
  std::string name = {};
  std::vector<FigureCell> cells = {};
};

struct Figure {
  std::string title = {};  ///< says the finding in a sentence
  std::string note = {};   ///< stands below it
  std::vector<FigureStrip> strips = {};
  std::vector<FigurePanel> panels = {};
  std::string data = {};     ///< JSON: stands in the document as metadata
  std::string command = {};  ///< that made it: stands at the end
};

/// One SVG document without anything from elsewhere, light or dark as the reader has it. What
/// stands in names and tokens is text in it and never markup.
std::string FigureSvg(const Figure& figure);

}  // namespace skald
