#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr double kGiga = 1e9;

constexpr std::array kCeilingFigures = {
    &Ceilings::int8_macs_per_second, &Ceilings::bfloat16_macs_per_second,
    &Ceilings::float_macs_per_second, &Ceilings::read_bytes_per_second};

constexpr std::array<const char*, 6> kPeerColumns = {"peer t/s", "min..max", "share",
                                                     "min..max", "ratio",    "min..max"};

std::string Share(double share) { return fmt::format("{:.0f} %", share * 100); }

// About four digits: "0.5213", "12.31", "310.2".
std::string Number(double value) {
  return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

std::string Range(const Spread& spread) {
  return fmt::format("{}..{}", Number(spread.min), Number(spread.max));
}

// "93..97 %"
std::string ShareRange(const Spread& spread) {
  return fmt::format("{:.0f}..{:.0f} %", 100 * spread.min, 100 * spread.max);
}

std::vector<Ceilings> CeilingsOf(const std::vector<Repetition>& runs) {
  std::vector<Ceilings> all;
  for (const Repetition& run : runs) all.push_back(run.ceilings);
  return all;
}

// The figures of a case, ours or the peer's.
struct Figures {
  std::vector<double> rates;     // tokens a second
  std::vector<double> ceilings;  // the same at the bound
  std::vector<double> shares;
};

Figures FiguresOf(const BenchCase& bench_case, const std::vector<Repetition>& runs) {
  const auto tokens = static_cast<double>(TokensOf(bench_case));
  Figures figures;
  for (const Repetition& run : runs) {
    figures.rates.push_back(tokens / run.seconds);
    figures.ceilings.push_back(tokens / run.bound_seconds);
    figures.shares.push_back(run.share());
  }
  return figures;
}

// How many times the rate of the peer's run behind it each of our runs has. Both had about the same
// machine, which one of another minute may not have had.
std::vector<double> RatiosOf(const BenchResult& result) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(result.runs.size(), result.peer_runs.size()); ++i)
    ratios.push_back(result.peer_runs[i].seconds / result.runs[i].seconds);
  return ratios;
}

// What bounds a case at the ceilings beside it.
Resource ResourceOf(const BenchResult& result) {
  Ceilings middle;
  for (double Ceilings::*figure : kCeilingFigures) {
    middle.*figure =
        SpreadBy(result.runs, [&](const Repetition& run) { return run.ceilings.*figure; }).median;
  }
  return BoundOf(result.work, middle).resource;
}

// The cells of the peer, dashes where it does not have the case.
void AddPeerCells(const BenchResult& result, std::vector<std::string>& row) {
  if (result.peer_runs.empty()) {
    row.insert(row.end(), kPeerColumns.size(), "-");
    return;
  }
  const Figures peer = FiguresOf(result.bench_case, result.peer_runs);
  const Spread rate = SpreadOf(peer.rates);
  const Spread share = SpreadOf(peer.shares);
  const Spread ratio = SpreadOf(RatiosOf(result));
  row.insert(row.end(), {Number(rate.median), Range(rate), Share(share.median), ShareRange(share),
                         fmt::format("{:.2f}", ratio.median),
                         fmt::format("{:.2f}..{:.2f}", ratio.min, ratio.max)});
}

std::string ResultTable(const BenchReport& report) {
  const BenchHeader& header = report.header;
  const bool has_peer = !header.peer.empty();
  std::vector<std::vector<std::string>> rows = {{"model", "size", "params", "threads", "isa",
                                                 "test", "t/s", "min..max", "ceiling", "share",
                                                 "min..max"}};
  std::vector<size_t> right = {1, 2, 3, 6, 7, 8, 9, 10};
  if (has_peer) {
    for (size_t i = 0; i < kPeerColumns.size(); ++i) right.push_back(rows.front().size() + i);
    rows.front().insert(rows.front().end(), kPeerColumns.begin(), kPeerColumns.end());
  }
  for (const BenchResult& result : report.results) {
    const Figures ours = FiguresOf(result.bench_case, result.runs);
    const Spread rate = SpreadOf(ours.rates);
    const Spread share = SpreadOf(ours.shares);
    std::vector<std::string> row = {
        fmt::format("{} {}", header.model.name, header.model.weights_type),
        Bytes(header.model.file_bytes),
        Count(header.model.parameter_count),
        fmt::format("{}", header.ceilings.front().threads),
        std::string(header.ceilings.front().isa_name),
        CaseName(result.bench_case),
        Number(rate.median),
        Range(rate),
        fmt::format("{} {}", Number(SpreadOf(ours.ceilings).median),
                    ResourceName(ResourceOf(result))),
        Share(share.median),
        ShareRange(share)};
    if (has_peer) AddPeerCells(result, row);
    rows.push_back(std::move(row));
  }
  return MarkdownTable(rows, right);
}

double TotalSeconds(const BenchProfile& profile) {
  double total = 0;
  for (const ProfileRow& row : profile.rows) total += row.seconds;
  return total;
}

std::string ProfileTable(const BenchProfile& profile) {
  const double total = TotalSeconds(profile);
  std::vector<std::vector<std::string>> rows = {
      {"operation", "time", "of step", "GMAC", "MB", "GMAC/s", "GB/s", "bound", "share"}};
  for (const ProfileRow& row : profile.rows) {
    const double macs = row.work.int8_macs + row.work.bfloat16_macs + row.work.float_macs;
    const Bound bound = BoundOf(row.work, profile.ceilings);
    if (row.seconds <= 0) continue;
    rows.push_back({std::string(row.operation), Duration(row.seconds),
                    fmt::format("{:.1f} %", 100 * row.seconds / total),
                    macs > 0 ? fmt::format("{:.3f}", macs / kGiga) : "-",
                    fmt::format("{:.2f}", row.work.bytes / 1e6),
                    macs > 0 ? fmt::format("{:.1f}", macs / kGiga / row.seconds) : "-",
                    fmt::format("{:.1f}", row.work.bytes / kGiga / row.seconds),
                    std::string(ResourceName(bound.resource)), Share(bound.seconds / row.seconds)});
  }
  rows.push_back({"step", Duration(total), "100 %", "", "", "", "", "", ""});
  return fmt::format("\nprofile of {}\n\n{}", CaseName(profile.bench_case),
                     MarkdownTable(rows, {1, 2, 3, 4, 5, 6, 8}));
}

void WriteCase(const BenchCase& bench_case, JsonWriter& json) {
  json.Key("test").String(CaseName(bench_case));
  json.Key("n_prompt").Int(bench_case.prompt_tokens).Key("n_gen").Int(bench_case.decode_tokens);
  json.Key("n_sequences").Int(bench_case.batch).Key("n_depth").Int(bench_case.depth);
}

void WriteWork(const BenchWork& work, JsonWriter& json) {
  json.Key("int8_macs").Double(work.int8_macs);
  json.Key("bfloat16_macs").Double(work.bfloat16_macs);
  json.Key("float_macs").Double(work.float_macs);
  json.Key("bytes").Double(work.bytes);
}

void WriteSamples(std::string_view key, const std::vector<double>& samples, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const double sample : samples) json.Double(sample);
  json.EndArray();
}

void WritePeer(const BenchResult& result, JsonWriter& json) {
  const Figures peer = FiguresOf(result.bench_case, result.peer_runs);
  WriteSamples("peer_samples_ts", peer.rates, json);
  WriteSamples("peer_samples_share", peer.shares, json);
  WriteSpread("peer_share", SpreadOf(peer.shares), json);
  WriteSpread("ratio", SpreadOf(RatiosOf(result)), json);
}

void WriteResult(const BenchResult& result, JsonWriter& json) {
  const Figures ours = FiguresOf(result.bench_case, result.runs);
  const Spread rate = SpreadOf(ours.rates);
  double sum = 0;
  for (const double sample : ours.rates) sum += sample;
  // avg_ts is what other programs look for; the median is what we compare.
  json.Key("avg_ts").Double(sum / static_cast<double>(ours.rates.size()));
  json.Key("median_ts").Double(rate.median).Key("min_ts").Double(rate.min);
  json.Key("max_ts").Double(rate.max);
  WriteSamples("samples_ts", ours.rates, json);
  WriteWork(result.work, json);
  json.Key("bound").String(ResourceName(ResourceOf(result)));
  json.Key("ceiling_ts").Double(SpreadOf(ours.ceilings).median);
  WriteSamples("samples_ceiling_ts", ours.ceilings, json);
  WriteSpread("share", SpreadOf(ours.shares), json);
  WriteSamples("samples_share", ours.shares, json);
  WriteCeilings(CeilingsOf(result.runs), json);
  if (!result.peer_runs.empty()) WritePeer(result, json);
}

void WriteProfile(const BenchProfile& profile, JsonWriter& json) {
  json.Key("seconds").Double(TotalSeconds(profile)).Key("profile").BeginArray();
  for (const ProfileRow& row : profile.rows) {
    const Bound bound = BoundOf(row.work, profile.ceilings);
    json.BeginObject().Key("operation").String(row.operation).Key("seconds").Double(row.seconds);
    WriteWork(row.work, json);
    json.Key("bound").String(ResourceName(bound.resource));
    json.Key("share").Double(bound.seconds / row.seconds).EndObject();
  }
  json.EndArray();
  WriteCeilings({profile.ceilings}, json);
}

// "int8 100 (95..104) GMAC/s"
std::string CeilingText(std::string_view name, const Spread& rate, std::string_view unit) {
  const int digits = unit == "GB/s" ? 1 : 0;
  return fmt::format("{} {:.{}f} ({:.{}f}..{:.{}f}) {}", name, rate.median, digits, rate.min,
                     digits, rate.max, digits, unit);
}

// "int8 100 (95..104) GMAC/s, bf16 50 (47..51) GMAC/s, fp32 10 (10..10) GMAC/s, read 20.0
// (16.1..22.3) GB/s"
std::string CeilingsText(const std::vector<Ceilings>& all) {
  const auto spread = [&](double Ceilings::*figure) {
    return SpreadBy(all, [&](const Ceilings& one) { return one.*figure / kGiga; });
  };
  return CeilingText("int8", spread(&Ceilings::int8_macs_per_second), "GMAC/s") + ", " +
         CeilingText("bf16", spread(&Ceilings::bfloat16_macs_per_second), "GMAC/s") + ", " +
         CeilingText("fp32", spread(&Ceilings::float_macs_per_second), "GMAC/s") + ", " +
         CeilingText("read", spread(&Ceilings::read_bytes_per_second), "GB/s");
}

std::string EscapePipes(const std::string& cell) {
  std::string escaped;
  for (const char c : TerminalLine(cell)) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string BenchHeaderText(const BenchHeader& header) {
  std::string text = fmt::format(
      "skald {}, numerics {}, {}\n"
      "{}; {} of {} cores, {}, KV {}\n"
      "ceilings: {}\n",
      header.version, kNumericsVersion, header.date, header.cpu, header.ceilings.front().threads,
      header.cores, header.ceilings.front().isa_name, header.kv_type,
      CeilingsText(header.ceilings));
  if (header.model.state_bytes > 0) {
    text +=
        fmt::format("state of recurrent layers: {} a sequence\n", Bytes(header.model.state_bytes));
  }
  if (header.repetitions == 0) return text + "\n";
  text += fmt::format("medians of {}, each share beside the ceilings of its moment",
                      header.repetitions);
  if (!header.peer.empty()) text += fmt::format("; in turn with: {}", TerminalLine(header.peer));
  return text + "\n\n";
}

void WriteBenchHeader(const BenchHeader& header, JsonWriter& json) {
  json.Key("skald_version").String(header.version).Key("numerics").Int(kNumericsVersion);
  json.Key("test_time").String(header.date).Key("cpu_info").String(header.cpu);
  json.Key("cores").Int(header.cores).Key("isa").String(header.ceilings.front().isa_name);
  json.Key("model_filename").String(header.model.path).Key("model_name").String(header.model.name);
  json.Key("model_type")
      .String(fmt::format("{} {}", header.model.architecture, header.model.weights_type));
  json.Key("model_size").Int(header.model.file_bytes);
  json.Key("model_n_params").Int(header.model.parameter_count);
  json.Key("state_bytes_per_sequence").Int(header.model.state_bytes);
  json.Key("n_threads").Int(header.ceilings.front().threads).Key("type_kv").String(header.kv_type);
}

void WriteSpread(const std::string& name, const Spread& spread, JsonWriter& json) {
  json.Key(name).Double(spread.median);
  json.Key(name + "_min").Double(spread.min).Key(name + "_max").Double(spread.max);
}

void WriteCeilings(const std::vector<Ceilings>& ceilings, JsonWriter& json) {
  constexpr std::array<const char*, kCeilingFigures.size()> kNames = {
      "int8_macs_per_second", "bfloat16_macs_per_second", "float_macs_per_second",
      "read_bytes_per_second"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    WriteSpread(kNames[i],
                SpreadBy(ceilings, [&](const Ceilings& one) { return one.*kCeilingFigures[i]; }),
                json);
  }
}

std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<size_t>& right) {
  const size_t columns = rows.front().size();
  std::vector<size_t> widths(columns, 3);
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < columns; ++i)
      widths[i] = std::max(widths[i], DisplayWidth(EscapePipes(row[i])));
  }
  const auto is_right = [&right](size_t column) {
    return std::find(right.begin(), right.end(), column) != right.end();
  };
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < columns; ++i) {
      const std::string cell = EscapePipes(rows[r][i]);
      const std::string padding(widths[i] - DisplayWidth(cell), ' ');
      text += "| " + (is_right(i) ? padding + cell : cell + padding) + ' ';
    }
    text += "|\n";
    if (r > 0) continue;
    for (size_t i = 0; i < columns; ++i) {
      const std::string dashes(widths[i] - 1, '-');
      text += "| " + dashes + (is_right(i) ? ':' : '-') + ' ';
    }
    text += "|\n";
  }
  return text;
}

std::string BenchText(const BenchReport& report) {
  std::string text = BenchHeaderText(report.header) + ResultTable(report);
  for (const BenchProfile& profile : report.profiles) text += ProfileTable(profile);
  return text;
}

std::string BenchJson(const BenchReport& report) {
  JsonWriter json;
  json.BeginArray();
  for (const BenchResult& result : report.results) {
    json.BeginObject();
    WriteBenchHeader(report.header, json);
    WriteCase(result.bench_case, json);
    WriteResult(result, json);
    json.EndObject();
  }
  for (const BenchProfile& profile : report.profiles) {
    json.BeginObject();
    WriteBenchHeader(report.header, json);
    WriteCase(profile.bench_case, json);
    WriteProfile(profile, json);
    json.EndObject();
  }
  json.EndArray();
  return json.Take() + '\n';
}

std::string CpuName(std::string_view cpuinfo) {
  constexpr std::string_view kKey = "model name";
  const size_t key = cpuinfo.find(kKey);
  const size_t colon = key == std::string_view::npos ? key : cpuinfo.find(':', key);
  if (colon == std::string_view::npos) return "unknown CPU";
  std::string_view name = cpuinfo.substr(colon + 1);
  name = name.substr(0, name.find('\n'));
  const size_t first = name.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "unknown CPU";
  return TerminalLine(name.substr(first, name.find_last_not_of(" \t\r") - first + 1));
}

std::string CpuNameHere() {
  std::ifstream file("/proc/cpuinfo");
  return CpuName(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace skald::cli
