#include "lab/reading.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"

namespace skald::lab {
namespace {

// Of the text, and of what stands beside it: another request's, or the state of a moment ago.
constexpr kv::StateId kOwnState = 0;
constexpr kv::StateId kOtherState = 1;

// Random keys are this large at most: of trained models keys of a head have elements of some units.
constexpr double kWrongKeySize = 4;

// The network without its causal masks; its weights are those of `network`.
model::Transformer WithoutMask(const model::Transformer& network) {
  model::Network open = network.network();
  for (model::Layer& layer : open.layers) {
    for (model::Mixer* mixer : {&layer.mixer, &layer.beside}) {
      if (auto* gqa = std::get_if<model::Gqa>(mixer)) gqa->mask = model::Mask::kNone;
    }
  }
  return model::Transformer(std::move(open), {});
}

// Which position each place is turned as: those that are lied about as another one.
std::vector<int64_t> TurnsOf(const Lie& lie, int64_t places) {
  std::vector<int64_t> turns(static_cast<size_t>(places));
  std::iota(turns.begin(), turns.end(), int64_t{0});
  if (lie.from == kNever) return turns;
  for (int64_t told = lie.from + lie.write_shift; told < places; ++told) {
    turns[static_cast<size_t>(told)] += lie.turn_shift - lie.write_shift;
  }
  return turns;
}

std::vector<kv::PageId> PagesFrom(int64_t first, int64_t count) {
  std::vector<kv::PageId> pages(static_cast<size_t>(count));
  std::iota(pages.begin(), pages.end(), static_cast<kv::PageId>(first));
  return pages;
}

}  // namespace

Result<Reading> Reading::Create(const model::Transformer& network, const Machine& machine,
                                int64_t positions, Lie lie) {
  const model::Network& numbers = network.network();
  const int64_t places = positions + lie.write_shift;
  const int64_t pages = (places + kernels::kPageTokens - 1) / kernels::kPageTokens;
  ASSIGN_OR_RETURN(kv::KvStore store,
                   kv::KvStore::Create(model::KvLayoutOf(numbers, machine.kv_types), 2 * pages));
  ASSIGN_OR_RETURN(kv::StateStore states,
                   kv::StateStore::Create({.floats = model::StateFloatsOf(numbers), .slots = 2}));
  const model::StepLimits limits = {
      .rows = positions, .logit_rows = positions, .threads = machine.threads->thread_count()};
  ASSIGN_OR_RETURN(model::Workspace workspace, model::Workspace::Create(numbers, limits));
  return Reading(network, machine, places, std::move(lie),
                 Memory{std::move(store), std::move(states), std::move(workspace)});
}

Reading::Reading(const model::Transformer& network, const Machine& machine, int64_t positions,
                 Lie lie, Memory memory)
    : network_(&network), machine_(machine), lie_(std::move(lie)), memory_(std::move(memory)) {
  if (lie_.sight == Sight::kAll) unmasked_ = WithoutMask(network);
  // Far enough for rows that are turned further than they stand.
  const int64_t last_turn = positions + std::max<int64_t>(lie_.turn_shift, 0);
  ropes_ = model::RopeTablesOf(network.network(), last_turn);
  const std::vector<int64_t> turns = TurnsOf(lie_, positions);
  for (model::RopeTable& table : ropes_) table = table.WithRows(turns);
  const int64_t pages = (positions + kernels::kPageTokens - 1) / kernels::kPageTokens;
  pages_ = PagesFrom(0, pages);
  if (lie_.order == PageOrder::kDescending) std::reverse(pages_.begin(), pages_.end());
  spare_pages_ = PagesFrom(pages, pages);
}

// The next position before which something happens.
int64_t Reading::NextBorder() const {
  const int64_t remembered = lie_.from - lie_.state_age;
  if (lie_.state_age > 0 && position_ < remembered) return remembered;
  if (position_ < lie_.from) return lie_.from;
  return position_ < lie_.until ? lie_.until : kNever;
}

void Reading::AtBorder() {
  if (lie_.state_age > 0 && position_ == lie_.from - lie_.state_age) {
    memory_.states.Copy({.from = kOwnState, .to = kOtherState});
  }
  if (position_ != lie_.from) return;
  if (lie_.state_age > 0) memory_.states.Copy({.from = kOtherState, .to = kOwnState});
  if (lie_.wrong_key) OverwriteKeys(*lie_.wrong_key);
  if (lie_.table == Table::kSwapped) std::swap(pages_[0], pages_[1]);
}

// Written as every key is, so whatever the types. That writes a value, too: those of the page are
// put back.
void Reading::OverwriteKeys(int64_t position) {
  const std::vector<kv::KvShape>& layers = memory_.store.layout().layers;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    for (int64_t head = 0; head < layers[layer].kv_heads; ++head) {
      const kernels::PagedKv view =
          memory_.store.View(static_cast<int64_t>(layer), head, kv::PageLists(pages_));
      std::vector<float> key(static_cast<size_t>(view.key_dim));
      for (size_t i = 0; i < key.size(); ++i) {
        const RandomKey place = {.seed = layer, .sequence = static_cast<uint32_t>(head)};
        const double random = UniformDouble(place, static_cast<uint32_t>(i));
        key[i] = static_cast<float>(kWrongKeySize * (2 * random - 1));
      }
      std::vector<std::byte> kept;
      std::byte* values = view.arena +
                          view.pages[position / kernels::kPageTokens] * view.page_stride +
                          view.value_offset;
      if (view.values == kernels::ValuePlace::kOwn) {
        kept.assign(values, values + kernels::ValuePageBytes(view.types.values, view.value_dim));
      }
      const std::vector<float> no_value(static_cast<size_t>(view.value_dim));
      machine_.kernels.append_kv(view, position, key.data(), no_value.data());
      if (!kept.empty()) std::memcpy(values, kept.data(), kept.size());
    }
  }
}

void Reading::Append(std::span<const TokenId> tokens, const OnRow& on_row) {
  while (!tokens.empty()) {
    AtBorder();
    const int64_t room = NextBorder() - position_;
    const auto count = static_cast<size_t>(std::min(room, std::ssize(tokens)));
    Step(tokens.first(count), on_row);
    tokens = tokens.subspan(count);
  }
}

void Reading::Step(std::span<const TokenId> tokens, const OnRow& on_row) {
  const std::span<const TokenId> other = lie_.other;
  model::SequenceRows rows = {
      .first_position = position_,
      .pages = kv::PageLists(pages_),
      .state = memory_.states.shape().floats > 0 ? kOwnState : kv::kNoState};
  if (is_lied_to()) rows.first_position += lie_.write_shift;
  if (is_lied_to() && lie_.past == Past::kForgotten) {
    rows.first_position = 0;
    rows.pages = kv::PageLists(spare_pages_);
  }
  Forward(rows, tokens);
  for (int64_t row = 0; row < std::ssize(tokens); ++row) {
    on_row({memory_.workspace.logits.row(row), static_cast<size_t>(network_->network().vocab)});
  }
  if (is_lied_to() && !other.empty()) {
    if (rows.state != kv::kNoState) rows.state = kOtherState;
    Forward(rows, other.subspan(static_cast<size_t>(position_), tokens.size()));
  }
  position_ += std::ssize(tokens);
}

void Reading::Forward(const model::SequenceRows& rows, std::span<const TokenId> tokens) {
  batch_.Clear();
  batch_.Add(rows, tokens);
  batch_.WantLogits(0, batch_.row_count());
  const model::Execution execution{machine_.kernels, *machine_.threads};
  const model::Transformer& network = is_lied_to() && unmasked_ ? *unmasked_ : *network_;
  network.Forward(batch_.batch(), {.store = memory_.store,
                                   .workspace = memory_.workspace,
                                   .ropes = ropes_,
                                   .execution = execution,
                                   .states = &memory_.states});
}

}  // namespace skald::lab
