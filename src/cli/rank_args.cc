#include "cli/rank_args.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "skald/model.h"

namespace skald::cli {
namespace {

constexpr const char* kGroup = "Ranks";
// Of random letters some 90 bits; what people type by hand is shorter.
constexpr size_t kShortestKey = 16;
constexpr int64_t kLongestWait = 24 * 3600;

Result<RankGroup> Host(const RankArgs& args, Console& console) {
  ASSIGN_OR_RETURN(const std::string key, ReadRankKey(args.key_file));
  const RankHost host = {.address = *args.listen,
                         .key = key,
                         .count = args.count,
                         .patience_seconds = static_cast<double>(args.wait_seconds),
                         .verify_steps = args.verify_steps};
  return HostRanks(host, [&](const RankArrival& arrival) {
    console.Note(arrival.here < args.count
                     ? fmt::format("{} of {} ranks are here; the others come to {} (skald rank)",
                                   arrival.here, args.count, arrival.address)
                     : fmt::format("all {} ranks are here", args.count));
  });
}

}  // namespace

void AddRankKeyArgs(CLI::App& app, std::optional<std::string>& key_file, int64_t& wait_seconds) {
  AddText(
      app,
      {"--rank-key", "file with the key that ranks of several machines share, 16 bytes at least"},
      kFileType, key_file)
      .Group(kGroup);
  AddInt<int64_t>(app, {"--rank-wait", "seconds until all other ranks are there (default 60)"},
                  wait_seconds, {1, kLongestWait})
      .Group(kGroup);
}

void AddRankArgs(CLI::App& app, RankArgs& args) {
  AddInt<int>(app,
              {"--ranks",
               "split the model among so many processes, each with memory and threads of its own "
               "(default 1)"},
              args.count, {1, kMaxRanks})
      .Group(kGroup);
  AddInt<int64_t>(
      app, {"--verify-ranks", "compare what ranks compute every N steps; 0 = never (default 0)"},
      args.verify_steps, {.min = 0})
      .Group(kGroup);
  AddText(app,
          {"--rank-listen",
           "HOST:PORT where the other ranks come to, from other machines (skald rank)"},
          kTextType, args.listen)
      .Group(kGroup);
  AddRankKeyArgs(app, args.key_file, args.wait_seconds);
}

Result<std::string> ReadRankKey(const std::optional<std::string>& file) {
  if (!file) {
    return Status(ErrorCode::kInvalidArgument,
                  "ranks of several machines need a key that they share (--rank-key FILE)");
  }
  ASSIGN_OR_RETURN(std::string key, ReadInput(*file));
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.size() >= kShortestKey) return key;
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("{}: the key has {} bytes, expected {} or more (openssl rand -hex 32)",
                            *file, key.size(), kShortestKey));
}

Result<RankGroup> MeetRanks(const RankArgs& args, Console& console) {
  if (args.key_file && !args.listen) {
    return Status(ErrorCode::kInvalidArgument,
                  "--rank-key is of ranks that come from other machines (--rank-listen HOST:PORT)");
  }
  if (args.count == 1) {
    if (!args.listen) return RankGroup();
    return Status(ErrorCode::kInvalidArgument,
                  "--rank-listen needs --ranks N, with all machines and this one counted");
  }
  if (args.listen) return Host(args, console);
  return StartRanks(
      {.count = args.count, .verify_steps = args.verify_steps, .sandbox = args.sandbox});
}

}  // namespace skald::cli
