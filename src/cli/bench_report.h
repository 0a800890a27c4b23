/// What `skald bench` prints: a header with everything needed to repeat the run, and a markdown
/// table to paste; or JSON with the fields of llama-bench and the ceilings beside them. Figures are
/// medians of repetitions with their spread, the shares too: each repetition is compared with the
/// ceilings of its moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "cli/bench_cases.h"
#include "cli/bench_measure.h"
#include "skald/bench.h"
#include "skald/model.h"

namespace skald::cli {

/// A case with its measurements.
struct BenchResult {
  BenchCase bench_case;
  BenchWork work;
  std::vector<Repetition> runs;       ///< not empty
  std::vector<Repetition> peer_runs;  ///< one behind each of ours; empty if not compared
};

/// A profiled step: "pp512" or "tg1 @ d512", and where its time went.
struct BenchProfile {
  BenchCase bench_case;
  Ceilings ceilings;  ///< beside it
  std::vector<ProfileRow> rows;
};

/// Under which circumstances it was measured.
struct BenchHeader {
  ModelInfo model;
  std::string cpu;                 ///< "AMD EPYC 9R14", as the system names it
  int cores = 0;                   ///< available to the process
  std::string kv_type;             ///< "f16"
  std::string date;                ///< "2026-11-21 20:55 UTC"
  std::string version;             ///< of skald
  int64_t repetitions = 0;         ///< 0: nothing is repeated
  std::string peer;                ///< the command compared with; empty if none
  std::vector<Ceilings> ceilings;  ///< all that were measured in the run; not empty
};

/// Everything that was measured.
struct BenchReport {
  BenchHeader header;
  std::vector<BenchResult> results;
  std::vector<BenchProfile> profiles;
};

/// The lines that head every report for people, with a blank line behind.
std::string BenchHeaderText(const BenchHeader& header);
/// The same as fields of the object that `json` is writing, without the ceilings.
void WriteBenchHeader(const BenchHeader& header, JsonWriter& json);
/// "NAME", "NAME_min" and "NAME_max".
void WriteSpread(const std::string& name, const Spread& spread, JsonWriter& json);
/// Medians of the ceilings, each with its least and its greatest, as fields. Requires one.
void WriteCeilings(const std::vector<Ceilings>& ceilings, JsonWriter& json);

/// The report for people: header lines, the table, a table for each profile.
std::string BenchText(const BenchReport& report);

/// The report for programs: an array with an object for each result, then one for each profile
/// (it has "profile" instead of "samples_ts").
std::string BenchJson(const BenchReport& report);

/// Rows of cells as a markdown table; the first row is the head. `right` lists the columns whose
/// numbers stand right. Pipes in cells are escaped.
std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<size_t>& right);

/// The value of "model name" in the text of /proc/cpuinfo, "unknown CPU" if there is none.
std::string CpuName(std::string_view cpuinfo);
/// That of this machine.
std::string CpuNameHere();

}  // namespace skald::cli
