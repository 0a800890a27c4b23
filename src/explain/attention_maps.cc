#include "explain/attention_maps.h"

#include <algorithm>
#include <utility>

namespace skald::explain {
namespace {

// Rows of a mixer, by position and head.
using Rows = std::map<std::pair<int64_t, int64_t>, const ExplainedAttention*>;

constexpr int64_t kSinkColumn = -2;

// Cells of a map: some 50 kB, if no two neighbours are alike.
constexpr int64_t kMostCells = 6500;

// So that a map has no more cells than that; 0 where it has not.
int64_t FirstRow(const Explanation& explanation) {
  std::map<int64_t, int64_t> widths;
  for (const ExplainedAttention& row : explanation.attention) {
    int64_t& width = widths[row.position];
    width = std::max(width, std::ssize(row.weights));
  }
  int64_t cells = 0;
  int64_t first = 0;
  for (auto row = widths.rbegin(); row != widths.rend(); ++row) {
    cells += row->second;
    if (cells > kMostCells) return first;
    first = row->first;
  }
  return 0;
}

void AddRow(const ExplainedAttention& row, int64_t first_row, HeatMap* map) {
  const int64_t y = row.position - first_row;
  if (y < 0) return;
  if (row.sink) map->Add(kSinkColumn, y, *row.sink);
  for (size_t i = 0; i < row.weights.size(); ++i) {
    map->Add(row.first_key + static_cast<int64_t>(i), y, static_cast<double>(row.weights[i]));
  }
}

// The mean of some heads of one row.
ExplainedAttention MeanOf(Rows::const_iterator first, Rows::const_iterator end) {
  const auto heads = static_cast<double>(std::distance(first, end));
  ExplainedAttention mean = {.position = first->second->position};
  mean.first_key = mean.position;
  std::vector<double> sums;
  double sink = 0;
  for (auto row = first; row != end; ++row) {
    const ExplainedAttention& of_head = *row->second;
    mean.first_key = std::min(mean.first_key, of_head.first_key);
    const auto begin = static_cast<size_t>(of_head.first_key);
    sums.resize(std::max(sums.size(), begin + of_head.weights.size()));
    for (size_t i = 0; i < of_head.weights.size(); ++i) {
      sums[begin + i] += static_cast<double>(of_head.weights[i]) / heads;
    }
    if (!of_head.sink) continue;
    sink += *of_head.sink / heads;
    mean.sink = sink;
  }
  mean.weights.assign(sums.begin() + mean.first_key, sums.end());
  return mean;
}

void AddMeans(const Rows& rows, int64_t first_row, MixerMaps* maps) {
  for (auto first = rows.begin(); first != rows.end();) {
    const int64_t position = first->first.first;
    auto end = first;
    while (end != rows.end() && end->first.first == position) ++end;
    const ExplainedAttention mean = MeanOf(first, end);
    AddRow(mean, first_row, &maps->mean);
    if (position >= first_row) {
      maps->seen[position - first_row] = {mean.first_key,
                                          mean.first_key + std::ssize(mean.weights)};
    }
    maps->has_sink = maps->has_sink || mean.sink.has_value();
    maps->has_window = maps->has_window || mean.first_key > 0;
    maps->last_row.assign(static_cast<size_t>(mean.first_key), 0);
    maps->last_row.insert(maps->last_row.end(), mean.weights.begin(), mean.weights.end());
    first = end;
  }
}

void AddHeads(const Rows& rows, int64_t first_row, MixerMaps* maps) {
  for (const auto& [place, row] : rows) AddRow(*row, first_row, &maps->heads[place.second]);
}

// Takes away what no longer fits.
void CutTo(size_t most_bytes, AttentionMaps* maps) {
  size_t bytes = 0;
  const auto fits = [&](const HeatMap& map) {
    bytes += map.bytes();
    return bytes <= most_bytes;
  };
  // What shows all of them is there in any case.
  bytes += maps->all.mean.bytes();
  for (auto& [place, mixer] : maps->mixers) {
    if (fits(mixer.mean)) continue;
    mixer.mean = {};
    ++maps->left_out;
  }
  for (auto& [place, mixer] : maps->mixers) {
    maps->left_out += static_cast<int64_t>(
        std::erase_if(mixer.heads, [&](const auto& head) { return !fits(head.second); }));
  }
}

}  // namespace

std::string MixerPlace::Name() const {
  if (layer < 0) return "all layers";
  return "layer " + std::to_string(layer) + (beside ? " beside" : "");
}

std::string MixerPlace::Id() const {
  return layer < 0 ? "all" : std::to_string(layer) + (beside ? "b" : "");
}

AttentionMaps MapsOf(const Explanation& explanation, size_t most_bytes) {
  std::map<MixerPlace, Rows> rows;
  Rows all;
  for (const ExplainedAttention& row : explanation.attention) {
    rows[{row.layer, row.beside}][{row.position, row.head}] = &row;
    all[{row.position, std::ssize(all)}] = &row;
  }
  AttentionMaps maps = {.first_row = FirstRow(explanation)};
  AddMeans(all, maps.first_row, &maps.all);
  for (const auto& [place, of_mixer] : rows) {
    MixerMaps& mixer = maps.mixers[place];
    AddMeans(of_mixer, maps.first_row, &mixer);
    AddHeads(of_mixer, maps.first_row, &mixer);
  }
  CutTo(most_bytes, &maps);
  return maps;
}

}  // namespace skald::explain
