/// --rope-..., --yarn-... and --endless: a context beyond the trained one.
#pragma once

#include <string>

#include "cli/cli11_forward.h"
#include "skald/endless.h"
#include "skald/rope_override.h"

namespace skald::cli {

/// The names and meanings are llama.cpp's.
void AddRopeArgs(CLI::App& app, RopeOverride& rope);

/// "rope_yarn_x4_base500000": what was asked for, for fingerprints; empty where the file decides.
std::string RopeName(const RopeOverride& rope);

/// --endless SINKS,WINDOW.
void AddEndlessArg(CLI::App& app, Endless& endless);

/// "endless4_1020", for fingerprints; empty without it.
std::string EndlessName(const Endless& endless);

}  // namespace skald::cli
