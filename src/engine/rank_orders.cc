#include "engine/rank_orders.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

constexpr uint64_t kSamePages = std::numeric_limits<uint64_t>::max();  // one list for all layers
constexpr uint64_t kMostName = 64;
constexpr int64_t kMostPages = std::numeric_limits<kv::PageId>::max();
constexpr int64_t kMostStateSlots = kMaxChunk + kMaxSnapshots;

bool Within(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

// Appends `count` numbers. False: there are not so many.
template <typename T>
bool ReadList(ByteReader* reader, uint64_t count, std::vector<T>* list) {
  if (count > reader->remaining() / sizeof(T)) return false;
  const auto bytes = *reader->Take(count * sizeof(T));
  const size_t at = list->size();
  list->resize(at + count);
  if (count > 0) std::memcpy(list->data() + at, bytes.data(), bytes.size());
  return true;
}

template <typename T>
void WriteList(std::span<const T> list, ByteWriter* writer) {
  writer->Put(uint64_t{list.size()}).PutEach(list);
}

// What the rows of a sequence reach, and whether it is there.
bool Reaches(const model::SequenceRows& rows, const ResolvedOptions& options,
             const kv::KvLayout& layout) {
  const int64_t end = rows.first_position + rows.row_count;
  const auto pages = static_cast<int64_t>(rows.pages.full.size());
  if (end > options.context || end > pages * kernels::kPageTokens) return false;
  if (options.whole_texts && rows.first_position != 0) return false;
  for (const kv::PageId page : rows.pages.full) {
    if (!Within(page, 0, options.page_count - 1)) return false;
  }
  if (options.state_slots > 0 && !Within(rows.state, 0, options.state_slots - 1)) return false;
  if (layout.window == 0) return true;
  if (rows.pages.window.size() != rows.pages.full.size()) return false;
  const int64_t seen = std::max<int64_t>(0, rows.first_position - layout.window + 1);
  int64_t position = 0;
  for (const kv::PageId page : rows.pages.window) {
    const bool is_pinned = position < layout.pinned;
    position += kernels::kPageTokens;
    const bool needed = (position > seen || is_pinned) && position - kernels::kPageTokens < end;
    if (!Within(page, needed ? 0 : kv::kNoPage, options.window_page_count() - 1)) return false;
  }
  return true;
}

bool Ascends(std::span<const int32_t> rows, int64_t first, int64_t end) {
  for (const int32_t row : rows) {
    if (!Within(row, first, end - 1)) return false;
    first = int64_t{row} + 1;
  }
  return true;
}

}  // namespace

Status NoRankOrder() {
  return Status(ErrorCode::kInvalidArgument, "what came is no order to a rank");
}

void Write(const RunnerFacts& facts, ByteWriter* writer) {
  const EngineMemory& memory = facts.memory;
  writer->Put(memory.kv).Put(memory.states).Put(memory.activations).Put(memory.ropes);
  writer->Put(facts.page_bytes).Put(facts.window_page_bytes).Put(facts.state_bytes);
}

Result<RunnerFacts> ReadRunnerFacts(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  RunnerFacts facts;
  EngineMemory& memory = facts.memory;
  for (int64_t* number : {&memory.kv, &memory.states, &memory.activations, &memory.ropes,
                          &facts.page_bytes, &facts.window_page_bytes, &facts.state_bytes}) {
    const auto read = reader.Read<int64_t>();
    if (!read || *read < 0) return NoRankOrder();
    *number = *read;
  }
  if (reader.remaining() > 0) return NoRankOrder();
  return facts;
}

void Write(const ResolvedOptions& options, ByteWriter* writer) {
  writer->Put(options.context)
      .Put(options.max_rows)
      .Put(options.max_logit_rows)
      .Put(options.page_count)
      .Put(options.windows.pages)
      .Put(options.windows.positions)
      .Put(options.windows.pinned)
      .Put(options.state_slots)
      .Put(int32_t{options.threads})
      .Put(static_cast<uint8_t>(options.kv_types.keys))
      .Put(static_cast<uint8_t>(options.kv_types.values))
      .Put(uint8_t{options.whole_texts})
      .String(options.isa.name);
}

Result<ResolvedOptions> ReadOptions(ByteReader* reader) {
  ResolvedOptions options;
  for (int64_t* number : {&options.context, &options.max_rows, &options.max_logit_rows,
                          &options.page_count, &options.windows.pages, &options.windows.positions,
                          &options.windows.pinned, &options.state_slots}) {
    const auto read = reader->Read<int64_t>();
    if (!read) return NoRankOrder();
    *number = *read;
  }
  const auto threads = reader->Read<int32_t>();
  const auto keys = reader->Read<uint8_t>();
  const auto values = reader->Read<uint8_t>();
  const auto whole_texts = reader->Read<uint8_t>();
  const auto isa = reader->ReadString(kMostName);
  constexpr auto kTypes = static_cast<int64_t>(kernels::KvType::kQ4);
  const int64_t most_rows = kMaxChunk + kMaxDraftRows;
  const bool fits =
      isa && Within(options.context, 1, kMaxContext) && Within(options.max_rows, 1, most_rows) &&
      Within(options.max_logit_rows, 1, most_rows) && Within(options.page_count, 1, kMostPages) &&
      Within(options.windows.pages, 0, options.page_count) &&
      Within(options.windows.positions, 0, kMaxContext) &&
      Within(options.windows.pinned, 0, kMaxContext) &&
      Within(options.state_slots, 0, kMostStateSlots) &&
      Within(*threads, 1, ThreadPool::kMaxThreads) && Within(*keys, 0, kTypes) &&
      Within(*values, 0, kTypes) && *whole_texts <= 1;
  if (!fits) return NoRankOrder();
  Result<Hardware> hardware = ResolveHardware(*threads, std::string(*isa));
  if (!hardware.ok()) hardware = ResolveHardware(*threads, "best");
  RETURN_IF_ERROR(hardware.status());
  options.threads = hardware->threads;
  options.isa = hardware->isa;
  options.kv_types = {static_cast<kernels::KvType>(*keys), static_cast<kernels::KvType>(*values)};
  options.whole_texts = *whole_texts == 1;
  return options;
}

void StepOrder::Write(const model::StepBatch& batch, ByteWriter* writer) {
  WriteList(batch.tokens, writer);
  writer->Put(uint64_t{batch.sequences.size()});
  for (const model::SequenceRows& rows : batch.sequences) {
    writer->Put(rows.row_count).Put(rows.first_position).Put(rows.second_text).Put(rows.state);
    WriteList(rows.pages.full, writer);
    const bool same = rows.pages.window.data() == rows.pages.full.data();
    if (same) writer->Put(kSamePages);
    if (!same) WriteList(rows.pages.window, writer);
  }
  WriteList(batch.logit_rows, writer);
  WriteList(batch.hidden_rows, writer);
}

// The lists of pages stand in one vector that still grows: until all are read, only how long they
// are counts of the spans.
Status StepOrder::ReadSequence(ByteReader* reader) {
  model::SequenceRows rows;
  const auto row_count = reader->Read<int64_t>();
  const auto first_position = reader->Read<int64_t>();
  const auto second_text = reader->Read<int64_t>();
  const auto state = reader->Read<kv::StateId>();
  const auto full = reader->Read<uint64_t>();
  const bool fits = full && Within(*row_count, 1, kMaxChunk + kMaxDraftRows) &&
                    Within(*first_position, 0, kMaxContext) &&
                    Within(*second_text, 0, kMaxContext) && ReadList(reader, *full, &pages_);
  if (!fits) return NoRankOrder();
  const auto window = reader->Read<uint64_t>();
  const bool same = window && *window == kSamePages;
  if (!window || (!same && !ReadList(reader, *window, &pages_))) return NoRankOrder();
  places_.push_back({.full = static_cast<size_t>(*full),
                     .window = same ? 0 : static_cast<size_t>(*window),
                     .same = same});
  rows.row_count = *row_count;
  rows.first_position = *first_position;
  rows.second_text = *second_text;
  rows.state = *state;
  sequences_.push_back(rows);
  return Ok();
}

void StepOrder::PointToPages() {
  std::span<const kv::PageId> left = pages_;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const Place& place = places_[i];
    const auto full = left.first(place.full);
    left = left.subspan(place.full);
    const auto window = place.same ? full : left.first(place.window);
    left = left.subspan(place.window);
    sequences_[i].pages = kv::PageLists(full, window);
  }
}

Status StepOrder::ReadRows(ByteReader* reader, std::vector<int32_t>* rows) {
  const auto count = reader->Read<uint64_t>();
  if (!count || !ReadList(reader, *count, rows)) return NoRankOrder();
  return Ok();
}

Status StepOrder::Read(ByteReader* reader, const ResolvedOptions& options,
                       const model::Network& network) {
  tokens_.clear();
  sequences_.clear();
  places_.clear();
  pages_.clear();
  logit_rows_.clear();
  hidden_rows_.clear();
  RETURN_IF_ERROR(ReadRows(reader, &tokens_));
  const auto sequences = reader->Read<uint64_t>();
  if (!sequences || *sequences > tokens_.size()) return NoRankOrder();
  for (uint64_t i = 0; i < *sequences; ++i) RETURN_IF_ERROR(ReadSequence(reader));
  PointToPages();
  RETURN_IF_ERROR(ReadRows(reader, &logit_rows_));
  RETURN_IF_ERROR(ReadRows(reader, &hidden_rows_));
  if (reader->remaining() > 0) return NoRankOrder();
  return Fits(options, network) ? Ok() : NoRankOrder();
}

bool StepOrder::Fits(const ResolvedOptions& options, const model::Network& network) const {
  const auto count = static_cast<int64_t>(tokens_.size());
  if (!Within(count, 1, options.max_rows)) return false;
  for (const TokenId token : tokens_) {
    if (!Within(token, 0, network.vocab - 1)) return false;
  }
  const kv::KvLayout layout = model::KvLayoutOf(network, options.kv_types);
  int64_t rows = 0;
  for (const model::SequenceRows& sequence : sequences_) {
    if (!Reaches(sequence, options, layout)) return false;
    rows += sequence.row_count;
  }
  const int64_t first_hidden = logit_rows_.empty() ? 0 : int64_t{logit_rows_.back()} + 1;
  return rows == count && std::ssize(logit_rows_) <= options.max_logit_rows &&
         Ascends(logit_rows_, 0, count) && Ascends(hidden_rows_, first_hidden, count);
}

model::StepBatch StepOrder::batch() const {
  return {.tokens = tokens_,
          .sequences = sequences_,
          .logit_rows = logit_rows_,
          .hidden_rows = hidden_rows_};
}

void Write(const kv::PageCopy& copy, ByteWriter* writer) {
  writer->Put(copy.from).Put(copy.to).Put(int32_t{copy.positions});
  writer->Put(copy.window_from).Put(copy.window_to);
}

Result<kv::PageCopy> ReadPageCopy(ByteReader* reader, const ResolvedOptions& options) {
  const auto from = reader->Read<kv::PageId>();
  const auto to = reader->Read<kv::PageId>();
  const auto positions = reader->Read<int32_t>();
  const auto window_from = reader->Read<kv::PageId>();
  const auto window_to = reader->Read<kv::PageId>();
  const auto are_two = [](int64_t a, int64_t b, int64_t count) {
    return Within(a, 0, count - 1) && Within(b, 0, count - 1) && a != b;
  };
  if (!window_to || reader->remaining() > 0) return NoRankOrder();
  const bool windows_fit = options.windows.pages > 0
                               ? are_two(*window_from, *window_to, options.windows.pages)
                               : *window_from == kv::kNoPage && *window_to == kv::kNoPage;
  const bool fits = windows_fit && are_two(*from, *to, options.page_count) &&
                    Within(*positions, 1, kernels::kPageTokens - 1);
  if (!fits) return NoRankOrder();
  return kv::PageCopy{*from, *to, *positions, *window_from, *window_to};
}

void Write(const kv::StateCopy& copy, ByteWriter* writer) { writer->Put(copy.from).Put(copy.to); }

Result<kv::StateCopy> ReadStateCopy(ByteReader* reader, const ResolvedOptions& options) {
  const auto from = reader->Read<kv::StateId>();
  const auto to = reader->Read<kv::StateId>();
  const int64_t last = options.state_slots - 1;
  const bool fits =
      to && Within(*from, 0, last) && Within(*to, 0, last) && reader->remaining() == 0;
  if (!fits) return NoRankOrder();
  return kv::StateCopy{*from, *to};
}

}  // namespace skald::engine
