/// The other side of `skald bench --against CMD`: a program with the options and the JSON output of
/// llama-bench.
#pragma once

#include <string>
#include <string_view>

#include "skald/bench.h"
#include "skald/status.h"

namespace skald::cli {

/// Whether llama-bench has such a case: it knows no batch of sequences.
bool PeerHasCase(const BenchCase& bench_case);

/// The peer as the user named it, and what both sides measure.
struct Peer {
  std::string command;  ///< a shell command, options included
  std::string model_path;
  int threads = 0;
};

/// The command line for one repetition of a case:
/// CMD -m 'FILE' -p P -n N -t T -r 1 -o json, and -d D at a depth.
std::string PeerCommand(const Peer& peer, const BenchCase& bench_case);

/// Tokens per second of a case, in the JSON output of the peer: "avg_ts" of the object of the array
/// whose "n_prompt" and "n_gen" are those of the case (and "n_depth", if it has one). Text around
/// the array is ignored. Errors: kIo with what is missing.
Result<double> PeerRate(std::string_view output, const BenchCase& bench_case);

/// Runs the peer once. Errors: kIo with its command line and what it said last; as PeerRate.
Result<double> RunPeer(const Peer& peer, const BenchCase& bench_case);

}  // namespace skald::cli
