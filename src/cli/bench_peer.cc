#include "cli/bench_peer.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/status_macros.h"
#include "cli/subprocess.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr size_t kQuotedMax = 400;

// The end of what a program said, for a message.
std::string LastWords(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "nothing";
  text = text.substr(0, end + 1);
  if (text.size() > kQuotedMax) text.remove_prefix(text.size() - kQuotedMax);
  return fmt::format("'{}'", TerminalText(text));
}

Status PeerError(const std::string& problem) {
  return Status(ErrorCode::kIo, "--against: " + problem);
}

// Whether the number `name` of an object is `expected`. An object without it says nothing else.
bool Agrees(const boost::json::object& object, std::string_view name, int64_t expected) {
  const boost::json::value* found = object.if_contains(name);
  if (found == nullptr) return true;
  return found->is_int64() && found->get_int64() == expected;
}

}  // namespace

bool PeerHasCase(const BenchCase& bench_case) { return bench_case.batch == 1; }

std::string PeerCommand(const Peer& peer, const BenchCase& bench_case) {
  std::string command = fmt::format("{} -m {} -p {} -n {} -t {} -r 1 -o json", peer.command,
                                    ShellQuoted(peer.model_path), bench_case.prompt_tokens,
                                    bench_case.decode_tokens, peer.threads);
  if (bench_case.depth > 0) command += fmt::format(" -d {}", bench_case.depth);
  return command;
}

Result<double> PeerRate(std::string_view output, const BenchCase& bench_case) {
  const size_t first = output.find('[');
  const size_t last = output.rfind(']');
  if (first == std::string_view::npos || last == std::string_view::npos || last < first)
    return PeerError(fmt::format("expected a JSON array on stdout, found {}", LastWords(output)));
  boost::json::error_code error;
  const std::string_view text = output.substr(first, last - first + 1);
  const boost::json::value parsed =
      boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  if (error || !parsed.is_array())
    return PeerError(fmt::format("its output is not JSON ({})", error.message()));
  for (const boost::json::value& entry : parsed.get_array()) {
    const boost::json::object* object = entry.if_object();
    if (object == nullptr || !Agrees(*object, "n_prompt", bench_case.prompt_tokens) ||
        !Agrees(*object, "n_gen", bench_case.decode_tokens) ||
        !Agrees(*object, "n_depth", bench_case.depth))
      continue;
    const boost::json::value* rate = object->if_contains("avg_ts");
    if (rate == nullptr || !rate->is_number()) continue;
    const double value = rate->to_number<double>(error);
    if (!error && value > 0) return value;
  }
  return PeerError(
      fmt::format("its output has no avg_ts above 0 for n_prompt {}, n_gen {}, n_depth {}",
                  bench_case.prompt_tokens, bench_case.decode_tokens, bench_case.depth));
}

Result<double> RunPeer(const Peer& peer, const BenchCase& bench_case) {
  const std::string command = PeerCommand(peer, bench_case);
  ASSIGN_OR_RETURN(const ProgramOutput ended, RunInShell(command));
  if (ended.exit_code != 0)
    return PeerError(fmt::format("`{}` ended with exit code {}; it said last: {}",
                                 TerminalLine(command), ended.exit_code,
                                 LastWords(ended.errors.empty() ? ended.output : ended.errors)));
  return PeerRate(ended.output, bench_case);
}

}  // namespace skald::cli
