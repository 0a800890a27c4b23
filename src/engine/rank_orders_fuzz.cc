// Fuzz target: what the first rank of a model tells another one (rank_orders.h), as a stranger
// would say it.
//
// The first byte says which order it is, and whether the network has windows. Holds for all bytes:
// an order that is taken reaches nothing beyond what the rank has, and is written as it was read.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "engine/rank_orders.h"
#include "kernels/attention/attention.h"
#include "model/blocks/gqa/gqa.h"

namespace skald::engine {
namespace {

constexpr int64_t kWindow = 40;

ResolvedOptions OptionsFor(int64_t window) {
  ResolvedOptions options;
  options.context = 200;
  options.max_rows = 64;
  options.max_logit_rows = 8;
  options.page_count = 16;
  options.state_slots = 4;
  options.threads = 1;
  if (window > 0) options.windows = {.pages = 8, .positions = window};
  return options;
}

model::Network NetworkFor(int64_t window) {
  model::Network network;
  network.vocab = 1000;
  network.layers.emplace_back();
  network.layers[0].mixer = model::Gqa{
      .width = 16, .heads = 1, .kv_heads = 1, .key_dim = 16, .value_dim = 16, .window = window};
  return network;
}

void CheckWritten(const ByteWriter& writer, std::span<const std::byte> bytes) {
  CHECK(std::equal(bytes.begin(), bytes.end(), writer.bytes().begin(), writer.bytes().end()));
}

void ReadStep(std::span<const std::byte> bytes, int64_t window) {
  const ResolvedOptions options = OptionsFor(window);
  StepOrder order;
  ByteReader reader(bytes);
  if (!order.Read(&reader, options, NetworkFor(window)).ok()) return;
  const model::StepBatch batch = order.batch();
  int64_t rows = 0;
  for (const model::SequenceRows& sequence : batch.sequences) {
    for (int64_t i = 0; i < sequence.row_count; ++i) {
      // Every page that a row reads or writes.
      const int64_t position = sequence.first_position + i;
      CHECK(position >= 0 && position < options.context);
      const int64_t first = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
      for (int64_t seen = first; seen <= position; ++seen) {
        const auto page = static_cast<size_t>(seen / kernels::kPageTokens);
        CHECK(sequence.pages.full[page] >= 0 && sequence.pages.full[page] < options.page_count);
        if (window == 0) continue;
        CHECK(page < sequence.pages.window.size() && sequence.pages.window[page] >= 0);
        CHECK(sequence.pages.window[page] < options.window_page_count());
      }
    }
    rows += sequence.row_count;
  }
  CHECK(rows == batch.row_count() && rows <= options.max_rows);
  ByteWriter writer;
  StepOrder::Write(batch, &writer);
  CheckWritten(writer, bytes);
}

void ReadOne(uint8_t kind, std::span<const std::byte> bytes) {
  const int64_t window = kind % 2 == 0 ? 0 : kWindow;
  ByteReader reader(bytes);
  ByteWriter writer;
  if (kind / 2 % 4 == 0) {
    const auto copy = ReadPageCopy(&reader, OptionsFor(window));
    if (copy.ok()) Write(*copy, &writer), CheckWritten(writer, bytes);
  } else if (kind / 2 % 4 == 1) {
    const auto facts = ReadRunnerFacts(bytes);
    if (facts.ok()) Write(*facts, &writer), CheckWritten(writer, bytes);
  } else if (kind / 2 % 4 == 2) {
    (void)ReadOptions(&reader);
  } else {
    ReadStep(bytes, window);
  }
}

}  // namespace
}  // namespace skald::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  skald::engine::ReadOne(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
