#include "cli/kernels_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace skald::cli {

namespace {

constexpr double kGiga = 1e9;

Spread RateOf(const std::vector<KernelSample>& samples) {
  return SpreadBy(samples, [](const KernelSample& sample) { return sample.macs_per_second; });
}
Spread PeakOf(const std::vector<KernelSample>& samples) {
  return SpreadBy(samples, [](const KernelSample& sample) { return sample.peak_macs_per_second; });
}
Spread ShareOf(const std::vector<KernelSample>& samples) {
  return SpreadBy(samples, [](const KernelSample& sample) { return sample.share(); });
}

// The peaks beside all measurements that have this bound: "int8 461 (402..470) GMAC/s".
std::string PeakText(const KernelReport& report, Resource resource) {
  std::vector<KernelSample> all;
  for (const KernelResult& result : report.results) {
    if (result.kernel.resource != resource) continue;
    for (const std::vector<KernelSample>& samples : result.samples)
      all.insert(all.end(), samples.begin(), samples.end());
  }
  if (all.empty()) return "";
  const Spread peak = PeakOf(all);
  return fmt::format("{} {:.0f} ({:.0f}..{:.0f}) GMAC/s", ResourceName(resource),
                     peak.median / kGiga, peak.min / kGiga, peak.max / kGiga);
}

std::string Head(const KernelReport& report) {
  const BenchHeader& header = report.header;
  std::string peaks;
  for (const Resource resource : {Resource::kInt8, Resource::kBFloat16, Resource::kFloat}) {
    const std::string peak = PeakText(report, resource);
    if (!peaks.empty() && !peak.empty()) peaks += ", ";
    peaks += peak;
  }
  return fmt::format(
      "skald {}, numerics {}, {}\n"
      "{}; {}, one thread, weights in L2\n"
      "peaks: {}\n"
      "GMAC/s and share of the peak beside it, by rows of activations; medians of {}\n\n",
      header.version, kNumericsVersion, header.date, header.cpu, report.isa_name, peaks,
      header.repetitions);
}

void WriteSamples(const KernelReport& report, const KernelResult& result, size_t rows,
                  JsonWriter& json) {
  const BenchHeader& header = report.header;
  const std::vector<KernelSample>& samples = result.samples[rows];
  json.BeginObject().Key("skald_version").String(header.version);
  json.Key("numerics").Int(kNumericsVersion).Key("test_time").String(header.date);
  json.Key("cpu_info").String(header.cpu).Key("isa").String(report.isa_name);
  json.Key("n_threads").Int(1).Key("weights").String(result.kernel.weights);
  json.Key("loop").String(result.kernel.way);
  json.Key("rows").Int(kKernelRows[rows]);
  json.Key("bound").String(ResourceName(result.kernel.resource));
  WriteSpread("macs_per_second", RateOf(samples), json);
  WriteSpread("peak_macs_per_second", PeakOf(samples), json);
  WriteSpread("share", ShareOf(samples), json);
  json.EndObject();
}

}  // namespace

std::string KernelText(const KernelReport& report) {
  std::vector<std::vector<std::string>> rows = {{"weights", "loop", "peak"}};
  std::vector<size_t> right;
  for (const int64_t count : kKernelRows) {
    right.push_back(rows.front().size());
    rows.front().push_back(fmt::format("{}", count));
  }
  for (const KernelResult& result : report.results) {
    std::vector<std::string> row = {result.kernel.weights, result.kernel.way,
                                    std::string(ResourceName(result.kernel.resource))};
    for (const std::vector<KernelSample>& samples : result.samples) {
      row.push_back(fmt::format("{:.1f} {:3.0f} %", RateOf(samples).median / kGiga,
                                100 * ShareOf(samples).median));
    }
    rows.push_back(std::move(row));
  }
  return Head(report) + MarkdownTable(rows, right);
}

std::string KernelJson(const KernelReport& report) {
  JsonWriter json;
  json.BeginArray();
  for (const KernelResult& result : report.results) {
    for (size_t rows = 0; rows < result.samples.size(); ++rows)
      WriteSamples(report, result, rows, json);
  }
  json.EndArray();
  return json.Take() + '\n';
}

}  // namespace skald::cli
