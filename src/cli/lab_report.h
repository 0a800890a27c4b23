/// What `skald lab` says: the list of experiments, or what came of one.
#pragma once

#include <span>
#include <string>

#include "cli/tint.h"
#include "skald/lab.h"

namespace skald::cli {

/// All experiments, each with what is to be seen and which bug it is.
std::string LabList(std::span<const LabExperiment> experiments);

/// The same as one JSON object.
std::string LabListJson(std::span<const LabExperiment> experiments);

/// What was changed, both texts with `>>` where they part, the plots, and what follows. Text of the
/// model and of its file is made safe for a terminal.
std::string LabText(const LabExperiment& experiment, const LabResult& result, Painting painting);

}  // namespace skald::cli
