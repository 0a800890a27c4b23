/// AttentionMaps: the attention of an explanation as maps over its text, those of each layer's mean
/// first, as many as a page has room for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "explain/heat_map.h"
#include "skald/explain.h"

namespace skald::explain {

/// A mixer of the network: of a layer the first or the one beside it; or all of them.
struct MixerPlace {
  int64_t layer = 0;  ///< -1: all mixers of all layers
  bool beside = false;

  auto operator<=>(const MixerPlace&) const = default;
  /// "layer 3", "layer 3 beside", "all layers".
  std::string Name() const;
  /// The same for an id: "3", "3b", "all".
  std::string Id() const;
};

/// What is drawn of one mixer. Columns are positions of the text, and so are rows, counted from
/// AttentionMaps::first_row; column -2 is the sink.
struct MixerMaps {
  /// Of each row that is drawn the first column that it sees and the one behind the last.
  std::map<int64_t, std::pair<int64_t, int64_t>> seen = {};
  bool has_sink = false;
  bool has_window = false;  ///< some row of a head does not see the first position
  HeatMap mean = {};        ///< over the heads
  std::map<int64_t, HeatMap> heads = {};
  /// The mean of the last row, by position.
  std::vector<double> last_row = {};
};

/// Maps stop at so many bytes; the numbers of the heads do not.
struct AttentionMaps {
  int64_t first_row = 0;  ///< position of the first row that is drawn: of a long text its end
  MixerMaps all = {};     ///< without heads
  std::map<MixerPlace, MixerMaps> mixers = {};
  int64_t left_out = 0;  ///< maps of heads and means for which there was no room
};

AttentionMaps MapsOf(const Explanation& explanation, size_t most_bytes);

}  // namespace skald::explain
