/// ReceiptArgs: --receipt and --receipt-hashes: a file that lets anybody check the answer.
#pragma once

#include <optional>
#include <string>

#include "cli/cli11_forward.h"
#include "skald/receipt.h"

namespace skald::cli {

struct ReceiptArgs {
  std::optional<std::string> path;  ///< unset: no receipt
  bool hashes_only = false;
};
void AddReceiptArgs(CLI::App& app, ReceiptArgs& args);

/// Before anything is generated. Errors: as CheckReceipt, if a receipt is wanted.
Status CheckReceiptArgs(const ReceiptArgs& args, const Request& request,
                        const SpeculationOptions& speculation);

/// Writes the file, if it is wanted. Errors: as MakeReceipt and OutputFile.
Status WriteReceipt(const ReceiptArgs& args, const Model& model, const AnswerParts& parts);

}  // namespace skald::cli
