/// Roofline: a machine's bounds and what runs under them, as a drawing.
///
///     const Result<ModelShape> shape = NamedModelShape("llama-3-8b");
///     const Machine machine = *NamedMachine("h100");
///     const Forecast step =
///         *ForecastOf(*shape, {}, machine, {.decode_tokens = 1, .batch = 8});
///     const std::string svg = RooflineSvg({.shape = shape->info(),
///                                          .machine = machine,
///                                          .forecasts = {step},
///                                          .command = "skald plan llama-3-8b"});
///
/// Both axes are logarithmic: operations for each byte to the right, operations a second upwards.
/// The slope is memory, the flat lines are the kinds of arithmetic that the forecasts have; no dot
/// stands above the lowest line over it.
#pragma once

#include <string>
#include <vector>

#include "skald/machine.h"
#include "skald/model_shape.h"
#include "skald/plan.h"
#include "skald/version.h"

namespace skald {

struct Roofline {
  ShapeInfo shape = {};
  Machine machine = {};
  std::vector<Forecast> forecasts = {};
  std::string command = {};  ///< that made it: it stands below
};

/// One SVG document without anything from elsewhere, light or dark as the reader has it. Its title
/// says what is to be seen; its figures stand in `metadata` as JSON. Requires positive rates.
std::string RooflineSvg(const Roofline& roofline);

}  // namespace skald
