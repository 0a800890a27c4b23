#include "cli/receipt_args.h"

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/output_file.h"

namespace skald::cli {
namespace {

constexpr const char* kReceiptGroup = "Receipt";

}  // namespace

void AddReceiptArgs(CLI::App& app, ReceiptArgs& args) {
  AddText(app, {"--receipt", "write what skald verify needs to check the answer"}, kFileType,
          args.path)
      .Group(kReceiptGroup);
  AddSwitch(app, {"--receipt-hashes", "hashes in place of the tokens in the receipt"},
            args.hashes_only, true)
      .Group(kReceiptGroup);
}

Status CheckReceiptArgs(const ReceiptArgs& args, const Request& request,
                        const SpeculationOptions& speculation) {
  if (args.path.has_value()) return CheckReceipt(request, speculation);
  if (!args.hashes_only) return Ok();
  return Status(ErrorCode::kInvalidArgument, "--receipt-hashes needs --receipt FILE");
}

Status WriteReceipt(const ReceiptArgs& args, const Model& model, const AnswerParts& parts) {
  if (!args.path.has_value()) return Ok();
  ASSIGN_OR_RETURN(const Receipt receipt, MakeReceipt(model, parts));
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(*args.path));
  RETURN_IF_ERROR(file.Write(ReceiptJson(receipt)));
  return file.Commit();
}

}  // namespace skald::cli
