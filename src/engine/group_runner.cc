#include "engine/group_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "engine/rank_parts.h"

namespace skald::engine {
namespace {

// Copies an answer that must have as many bytes.
auto Into(std::span<std::byte> part) {
  return [part](int, std::span<const std::byte> bytes) -> Status {
    if (bytes.size() != part.size()) return NoRankOrder();
    std::copy(bytes.begin(), bytes.end(), part.begin());
    return Ok();
  };
}

}  // namespace

GroupRunner::GroupRunner(std::shared_ptr<ranks::Group> group, std::unique_ptr<ModelNetwork> own)
    : group_(std::move(group)),
      own_(std::move(own)),
      number_(group_->NewNumber()),
      memory_(own_->memory()),
      page_bytes_({own_->PageBytes(kv::PageGroup::kFull)}),
      window_page_bytes_({own_->PageBytes(kv::PageGroup::kWindow)}),
      state_bytes_({own_->StateBytes()}) {}

Result<std::unique_ptr<GroupRunner>> GroupRunner::Create(const Model& model,
                                                         const ResolvedOptions& options) {
  const std::shared_ptr<ranks::Group>& group = model.group();
  const ResolvedOptions of_rank = OfRank(options, group->ranks_here());
  ASSIGN_OR_RETURN(
      auto own, ModelNetwork::Create(model.parts().front(), of_rank, nullptr, &group->exchange()));
  auto runner = std::unique_ptr<GroupRunner>(new GroupRunner(group, std::move(own)));
  RETURN_IF_ERROR(runner->MakeOthers(of_rank));
  return runner;
}

GroupRunner::~GroupRunner() {
  const auto turn = group_->TakeTurn();
  group_->Tell(kDropRunner, Begin().bytes());
}

ByteWriter& GroupRunner::Begin() {
  order_.Clear();
  return order_.Put(number_);
}

Status GroupRunner::MakeOthers(const ResolvedOptions& options) {
  const auto turn = group_->TakeTurn();
  Write(options, &Begin());
  return group_->Ask(kMakeRunner, order_.bytes(), [&](int, std::span<const std::byte> bytes) {
    const Result<RunnerFacts> facts = ReadRunnerFacts(bytes);
    if (!facts.ok()) return facts.status();
    memory_ += facts->memory;
    page_bytes_.push_back(facts->page_bytes);
    window_page_bytes_.push_back(facts->window_page_bytes);
    state_bytes_.push_back(facts->state_bytes);
    return Ok();
  });
}

void GroupRunner::CopyPage(const kv::PageCopy& copy) {
  const auto turn = group_->TakeTurn();
  Write(copy, &Begin());
  group_->Tell(kCopyPage, order_.bytes());
  own_->CopyPage(copy);
}

// The pages of the ranks, one behind the other.
int64_t GroupRunner::PageBytes(kv::PageGroup group) const {
  const auto& sizes = group == kv::PageGroup::kWindow ? window_page_bytes_ : page_bytes_;
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

// Of these parts, by rank.
std::vector<int64_t> GroupRunner::PageSizes(const kv::PageParts& parts) const {
  std::vector<int64_t> sizes;
  for (size_t rank = 0; rank < page_bytes_.size(); ++rank) {
    sizes.push_back((parts.full == kv::kNoPage ? 0 : page_bytes_[rank]) +
                    (parts.window == kv::kNoPage ? 0 : window_page_bytes_[rank]));
  }
  return sizes;
}

// Where the group is lost meanwhile, what it brings is nothing: who asks sees that (Lost).
void GroupRunner::SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) {
  const auto turn = group_->TakeTurn();
  ForEachPart(PageSizes(parts), 0, bytes, [&](size_t rank, int64_t, std::span<std::byte> part) {
    if (rank == 0) return own_->SavePage(parts, part);
    Begin().Put(parts.full).Put(parts.window);
    const Status status =
        group_->AskOne(static_cast<int>(rank), kSavePage, order_.bytes(), Into(part));
    if (!status.ok()) group_->Break(status.message());
  });
}

void GroupRunner::LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) {
  const auto turn = group_->TakeTurn();
  ForEachPart(PageSizes(parts), 0, bytes,
              [&](size_t rank, int64_t, std::span<const std::byte> part) {
                if (rank == 0) return own_->LoadPage(parts, part);
                Begin().Put(parts.full).Put(parts.window).Bytes(part);
                group_->TellOne(static_cast<int>(rank), kLoadPage, order_.bytes());
              });
}

int64_t GroupRunner::StateBytes() const {
  return std::accumulate(state_bytes_.begin(), state_bytes_.end(), int64_t{0});
}

void GroupRunner::SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) {
  const auto turn = group_->TakeTurn();
  ForEachPart(state_bytes_, begin, bytes,
              [&](size_t rank, int64_t from, std::span<std::byte> part) {
                if (rank == 0) return own_->SaveState(state, from, part);
                Begin().Put(state).Put(from).Put(int64_t{std::ssize(part)});
                const Status status =
                    group_->AskOne(static_cast<int>(rank), kSaveState, order_.bytes(), Into(part));
                if (!status.ok()) group_->Break(status.message());
              });
}

void GroupRunner::LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) {
  const auto turn = group_->TakeTurn();
  ForEachPart(state_bytes_, begin, bytes,
              [&](size_t rank, int64_t from, std::span<const std::byte> part) {
                if (rank == 0) return own_->LoadState(state, from, part);
                Begin().Put(state).Put(from).Bytes(part);
                group_->TellOne(static_cast<int>(rank), kLoadState, order_.bytes());
              });
}

void GroupRunner::CopyState(const kv::StateCopy& copy) {
  const auto turn = group_->TakeTurn();
  Write(copy, &Begin());
  group_->Tell(kCopyState, order_.bytes());
  own_->CopyState(copy);
}

void GroupRunner::Forward(const model::StepBatch& batch) {
  const auto turn = group_->TakeTurn();
  StepOrder::Write(batch, &Begin());
  group_->Tell(kForward, order_.bytes());
  own_->Forward(batch);
  const int64_t every = group_->verify_steps();
  if (every > 0 && ++steps_ % every == 0) Compare(batch.row_count());
}

void GroupRunner::TurnToLogits(int64_t first, int64_t count) {
  const auto turn = group_->TakeTurn();
  Begin().Put(first).Put(count);
  group_->Tell(kTurnToLogits, order_.bytes());
  own_->TurnToLogits(first, count);
}

void GroupRunner::TurnDepthToLogits(std::span<const float> rows) {
  const auto turn = group_->TakeTurn();
  Begin().PutEach(rows);
  group_->Tell(kTurnDepthToLogits, order_.bytes());
  own_->TurnDepthToLogits(rows);
}

// The residual stream stands in every rank, each has computed its own from what all have given.
void GroupRunner::Compare(int64_t rows) {
  if (group_->lost()) return;
  const std::string own = own_->HashResidual(rows);
  Begin().Put(rows);
  const Status status =
      group_->Ask(kHashResidual, order_.bytes(), [&](int, std::span<const std::byte> bytes) {
        const auto own_bytes = std::as_bytes(std::span(own));
        if (std::equal(bytes.begin(), bytes.end(), own_bytes.begin(), own_bytes.end())) return Ok();
        return Status(ErrorCode::kUnavailable, "it computes other numbers than the first rank");
      });
  if (!status.ok()) group_->Break(status.message());
}

void GroupRunner::Poison(kv::PageGroup group, kv::PageId page) {
  const auto turn = group_->TakeTurn();
  Begin().Put(uint8_t{group == kv::PageGroup::kWindow}).Put(page);
  group_->Tell(kPoison, order_.bytes());
  own_->Poison(group, page);
}

void GroupRunner::PoisonState(kv::StateId state) {
  const auto turn = group_->TakeTurn();
  Begin().Put(state);
  group_->Tell(kPoisonState, order_.bytes());
  own_->PoisonState(state);
}

}  // namespace skald::engine
