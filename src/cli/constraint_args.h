/// ConstraintArgs: --json-schema, --grammar, --grammar-file, --regex: the texts that an answer is
/// kept to.
#pragma once

#include <optional>
#include <string>

#include "cli/cli11_forward.h"
#include "skald/constraint.h"
#include "skald/grammar.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

/// At most one of them.
struct ConstraintArgs {
  std::optional<std::string> json_schema = {};  ///< the schema itself, or the file it is in
  std::optional<std::string> grammar = {};
  std::optional<std::string> grammar_file = {};
  std::optional<std::string> regex = {};
};
void AddConstraintArgs(CLI::App& app, ConstraintArgs& args);

/// The grammar that the flags ask for, if they do. Errors: kInvalidArgument for two of them; those
/// of reading the file and of compiling, with the name of the flag or file.
Result<std::optional<Grammar>> ReadGrammar(const ConstraintArgs& args);

/// `grammar` over the tokens of `model`; none where there is no grammar. Errors: as
/// Constraint::Create. Takes some 50 ms for 128 k tokens.
Result<std::optional<Constraint>> ConstraintFor(const std::optional<Grammar>& grammar,
                                                const Model& model);

}  // namespace skald::cli
