#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr double kGiga = 1e9;

std::string Share(double share) { return fmt::format("{:.0f} %", share * 100); }

// About four digits: "0.5213", "12.31", "310.2".
std::string Number(double value) {
  return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

// What a case could reach: tokens per second at the bound.
double CeilingRate(const BenchResult& result, const Bound& bound) {
  return static_cast<double>(TokensOf(result.bench_case)) / bound.seconds;
}

std::string ResultTable(const BenchReport& report) {
  const BenchHeader& header = report.header;
  const bool has_peer = !header.peer.empty();
  std::vector<std::vector<std::string>> rows = {
      {"model", "size", "params", "threads", "isa", "test", "t/s", "min..max", "ceiling", "share"}};
  std::vector<size_t> right = {1, 2, 3, 6, 7, 8, 9};
  if (has_peer) {
    rows.front().insert(rows.front().end(), {"peer t/s", "min..max", "ratio"});
    right.insert(right.end(), {10, 11, 12});
  }
  for (const BenchResult& result : report.results) {
    const Spread rate = SpreadOf(result.tokens_per_second);
    const Bound bound = BoundOf(result.work, header.ceilings);
    const double ceiling = CeilingRate(result, bound);
    std::vector<std::string> row = {
        fmt::format("{} {}", header.model.name, header.model.weights_type),
        Bytes(header.model.file_bytes),
        Count(header.model.parameter_count),
        fmt::format("{}", header.ceilings.threads),
        std::string(header.ceilings.isa_name),
        CaseName(result.bench_case),
        Number(rate.median),
        fmt::format("{}..{}", Number(rate.min), Number(rate.max)),
        fmt::format("{} {}", Number(ceiling), ResourceName(bound.resource)),
        Share(rate.median / ceiling)};
    if (has_peer && result.peer_tokens_per_second.empty()) {
      row.insert(row.end(), {"-", "-", "-"});
    } else if (has_peer) {
      const Spread peer = SpreadOf(result.peer_tokens_per_second);
      row.insert(row.end(),
                 {Number(peer.median), fmt::format("{}..{}", Number(peer.min), Number(peer.max)),
                  fmt::format("{:.2f}", rate.median / peer.median)});
    }
    rows.push_back(std::move(row));
  }
  return MarkdownTable(rows, right);
}

double TotalSeconds(const BenchProfile& profile) {
  double total = 0;
  for (const ProfileRow& row : profile.rows) total += row.seconds;
  return total;
}

std::string ProfileTable(const BenchProfile& profile, const Ceilings& ceilings) {
  const double total = TotalSeconds(profile);
  std::vector<std::vector<std::string>> rows = {
      {"operation", "time", "of step", "GMAC", "MB", "GMAC/s", "GB/s", "bound", "share"}};
  for (const ProfileRow& row : profile.rows) {
    const double macs = row.work.int8_macs + row.work.float_macs;
    const Bound bound = BoundOf(row.work, ceilings);
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
  json.Key("int8_macs").Double(work.int8_macs).Key("float_macs").Double(work.float_macs);
  json.Key("bytes").Double(work.bytes);
}

void WriteSamples(const std::vector<double>& samples, JsonWriter& json) {
  json.BeginArray();
  for (const double sample : samples) json.Double(sample);
  json.EndArray();
}

void WriteResult(const BenchResult& result, const Ceilings& ceilings, JsonWriter& json) {
  const Spread rate = SpreadOf(result.tokens_per_second);
  const Bound bound = BoundOf(result.work, ceilings);
  double sum = 0;
  for (const double sample : result.tokens_per_second) sum += sample;
  // avg_ts is what other programs look for; the median is what we compare.
  json.Key("avg_ts").Double(sum / static_cast<double>(result.tokens_per_second.size()));
  json.Key("median_ts").Double(rate.median).Key("min_ts").Double(rate.min);
  json.Key("max_ts").Double(rate.max).Key("samples_ts");
  WriteSamples(result.tokens_per_second, json);
  WriteWork(result.work, json);
  const double ceiling = CeilingRate(result, bound);
  json.Key("ceiling_ts").Double(ceiling).Key("bound").String(ResourceName(bound.resource));
  json.Key("share").Double(rate.median / ceiling);
  if (result.peer_tokens_per_second.empty()) return;
  json.Key("peer_samples_ts");
  WriteSamples(result.peer_tokens_per_second, json);
  json.Key("ratio").Double(rate.median / SpreadOf(result.peer_tokens_per_second).median);
}

void WriteProfile(const BenchProfile& profile, const Ceilings& ceilings, JsonWriter& json) {
  json.Key("seconds").Double(TotalSeconds(profile)).Key("profile").BeginArray();
  for (const ProfileRow& row : profile.rows) {
    const Bound bound = BoundOf(row.work, ceilings);
    json.BeginObject().Key("operation").String(row.operation).Key("seconds").Double(row.seconds);
    WriteWork(row.work, json);
    json.Key("bound").String(ResourceName(bound.resource));
    json.Key("share").Double(bound.seconds / row.seconds).EndObject();
  }
  json.EndArray();
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
  const Ceilings& c = header.ceilings;
  std::string text = fmt::format(
      "skald {}, numerics {}, {}\n"
      "{}; {} of {} cores, {}, KV {}\n"
      "ceilings: int8 {:.0f} GMAC/s, fp32 {:.0f} GMAC/s, read {:.1f} GB/s\n",
      header.version, kNumericsVersion, header.date, header.cpu, c.threads, header.cores,
      c.isa_name, header.kv_type, c.int8_macs_per_second / kGiga, c.float_macs_per_second / kGiga,
      c.read_bytes_per_second / kGiga);
  if (header.model.state_bytes > 0) {
    text +=
        fmt::format("state of recurrent layers: {} a sequence\n", Bytes(header.model.state_bytes));
  }
  if (header.repetitions == 0) return text + "\n";
  text += fmt::format("medians of {}", header.repetitions);
  if (!header.peer.empty()) text += fmt::format("; in turn with: {}", TerminalLine(header.peer));
  return text + "\n\n";
}

void WriteBenchHeader(const BenchHeader& header, JsonWriter& json) {
  json.Key("skald_version").String(header.version).Key("numerics").Int(kNumericsVersion);
  json.Key("test_time").String(header.date).Key("cpu_info").String(header.cpu);
  json.Key("cores").Int(header.cores).Key("isa").String(header.ceilings.isa_name);
  json.Key("model_filename").String(header.model.path).Key("model_name").String(header.model.name);
  json.Key("model_type")
      .String(fmt::format("{} {}", header.model.architecture, header.model.weights_type));
  json.Key("model_size").Int(header.model.file_bytes);
  json.Key("model_n_params").Int(header.model.parameter_count);
  json.Key("state_bytes_per_sequence").Int(header.model.state_bytes);
  json.Key("n_threads").Int(header.ceilings.threads).Key("type_kv").String(header.kv_type);
  json.Key("int8_macs_per_second").Double(header.ceilings.int8_macs_per_second);
  json.Key("float_macs_per_second").Double(header.ceilings.float_macs_per_second);
  json.Key("read_bytes_per_second").Double(header.ceilings.read_bytes_per_second);
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
  for (const BenchProfile& profile : report.profiles)
    text += ProfileTable(profile, report.header.ceilings);
  return text;
}

std::string BenchJson(const BenchReport& report) {
  JsonWriter json;
  json.BeginArray();
  for (const BenchResult& result : report.results) {
    json.BeginObject();
    WriteBenchHeader(report.header, json);
    WriteCase(result.bench_case, json);
    WriteResult(result, report.header.ceilings, json);
    json.EndObject();
  }
  for (const BenchProfile& profile : report.profiles) {
    json.BeginObject();
    WriteBenchHeader(report.header, json);
    WriteCase(profile.bench_case, json);
    WriteProfile(profile, report.header.ceilings, json);
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

}  // namespace skald::cli
