#include "cli/logits_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/output_file.h"
#include "cli/parse_number.h"
#include "skald/logits.h"
#include "skald/model.h"

namespace skald::cli {

static_assert(std::endian::native == std::endian::little,
              "rows are written as they lie in memory; a big-endian port swaps bytes here");

namespace {

constexpr const char* kExamples = R"(Examples:
  skald logits -m model.gguf --tokens 1,403,407 --out a.f32
  skald tokenize --ids -f text.txt | skald logits --tokens-file - --out rows.f32
  skald logits -m model.gguf --tokens 1,403,407 --chunks 2,1 --isa scalar --out b.f32
  cmp a.f32 b.f32                         the same bits
)";

// As far as a list of chunk sizes can go wrong before the engine sees it.
constexpr Range<int64_t> kChunkRange = {1, std::numeric_limits<int32_t>::max()};

Result<std::vector<TokenId>> ReadTokens(const LogitsOptions& options) {
  if (options.tokens.has_value() == options.tokens_file.has_value())
    return Status(ErrorCode::kInvalidArgument, "give one of --tokens and --tokens-file");
  if (options.tokens.has_value()) return ParseTokenIds(*options.tokens);
  ASSIGN_OR_RETURN(const std::string text, ReadInput(*options.tokens_file));
  return ParseTokenIds(text);
}

std::string_view AsBytes(std::span<const float> row) {
  return {reinterpret_cast<const char*>(row.data()), row.size_bytes()};
}

Status ComputeInto(const LogitsOptions& options, const std::vector<TokenId>& tokens,
                   LogitsSession& session, OutputFile& file) {
  const std::vector<int64_t> chunks =
      LogitChunks(options.chunks, static_cast<int64_t>(tokens.size()));
  const InterruptScope interrupt;
  RETURN_IF_ERROR(session.Compute(tokens, chunks, [&](std::span<const float> row) -> Status {
    if (InterruptScope::Requested()) return Status(ErrorCode::kCancelled, "interrupted");
    return file.Write(AsBytes(row));
  }));
  return file.Commit();
}

}  // namespace

std::vector<int64_t> LogitChunks(const std::vector<int64_t>& given, int64_t token_count) {
  if (!given.empty()) return given;
  return {std::clamp<int64_t>(token_count, 1, kLogitChunk)};
}

void AddLogitsCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"logits", "Write the logits of every position as float32 rows", kExamples});
  const auto options = std::make_shared<LogitsOptions>();
  AddModelArgs(verb, options->model);
  AddText(verb, {"--tokens", "token ids, separated by commas"}, "IDS", options->tokens);
  AddText(verb, {"--tokens-file", "read the token ids from a file; - is stdin"}, kFileType,
          options->tokens_file);
  AddText(verb, {"-o,--out", "where to write; - is stdout"}, kFileType, options->out).Require();
  AddValue(verb, {"--chunks", "tokens computed in each step; the last size repeats (default 64)"},
           "SIZES", [options = options.get()](const std::string& value) {
             Result<std::vector<int64_t>> chunks = ParseIntList(value, kChunkRange);
             if (chunks.ok()) options->chunks = *chunks;
             return std::move(chunks).status();
           });
  AddComputeArgs(verb, options->engine);
  AddConsoleArgs(verb, options->console);
  ChooseWhenParsed(verb, options, Logits, &chosen);
}

Status Logits(const LogitsOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.console);
  if (options.out == "-" && console.terminals().output)
    return Status(ErrorCode::kInvalidArgument,
                  "--out -: refusing to write raw numbers to a terminal; redirect stdout");
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, ReadTokens(options));
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));

  const auto count = static_cast<int64_t>(tokens.size());
  const std::vector<int64_t> chunks = LogitChunks(options.chunks, count);
  EngineOptions engine_options = ToEngineOptions(options.engine);
  engine_options.context = count;
  engine_options.max_chunk = std::min(count, *std::max_element(chunks.begin(), chunks.end()));
  ASSIGN_OR_RETURN(LogitsSession session, LogitsSession::Create(model, engine_options));

  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(options.out));
  RETURN_IF_ERROR(ComputeInto(options, tokens, session, file));
  console.Note(fmt::format("{} rows of {} logits", count, model.info().vocab_size));
  return Ok();
}

}  // namespace skald::cli
