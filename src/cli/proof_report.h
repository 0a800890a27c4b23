/// What `skald proof` says: a line for each run, then whether all gave the same bits.
#pragma once

#include <string>
#include <vector>

#include "skald/proof.h"

namespace skald::cli {

/// What was asked, and all rows in their order.
struct ProofReport {
  std::string model;
  int64_t prompt_tokens = 0;
  int64_t answer_tokens = 0;
  uint64_t seed = 0;
  std::vector<ProofRow> rows = {};
};

/// The heads of the columns, and the line of one run below them; each with a newline.
std::string ProofHead();
std::string ProofLine(const ProofRow& row);

/// What follows from all rows: one sentence, or where each of those that differ parts from the
/// first. Ends with a newline.
std::string ProofVerdict(const ProofReport& report);

/// All of it as one JSON object, with whole hashes.
std::string ProofJson(const ProofReport& report);

/// Rows that ran and parted from the first.
int64_t CountDifferent(const ProofReport& report);

}  // namespace skald::cli
