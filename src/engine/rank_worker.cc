#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/model_network.h"
#include "engine/rank_orders.h"
#include "ranks/group.h"
#include "ranks/meeting.h"
#include "ranks/shared_link.h"
#include "skald/engine.h"
#include "skald/ranks.h"
#include "skald/version.h"

namespace skald {
namespace {

using engine::NoRankOrder;

// Numbers and programs of all ranks are the same, or their bits need not be.
std::string Build() { return fmt::format("skald {}, numerics {}", kVersion, kNumericsVersion); }

// What Resolve of the same network on the other side sees to.
bool Suits(const engine::ResolvedOptions& options, const model::Network& network) {
  const bool has_states = model::StateFloatsOf(network) > 0;
  return engine::CheckKvTypes(network, options.kv_types).ok() &&
         has_states == (options.state_slots > 0) &&
         model::NeedsWholeTexts(network) == options.whole_texts &&
         (network.positions != model::Positions::kLearned || options.context <= network.context);
}

}  // namespace

Result<int> ShareRankMemory(int count) {
  ASSIGN_OR_RETURN(const ranks::SharedRanks memory, ranks::SharedRanks::Create(count));
  const int descriptor = fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor >= 0) return descriptor;
  return Status(ErrorCode::kResourceExhausted, "no descriptor is left for what ranks share");
}

Result<RankGroup> LeadRanks(const RankSockets& links) {
  std::vector<ranks::Channel> others;
  for (const int socket : links.sockets) others.emplace_back(socket);
  ASSIGN_OR_RETURN(ranks::SharedRanks memory, ranks::SharedRanks::Open(links.memory));
  if (memory.count() != std::ssize(others) + 1) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("the memory is one of {} ranks, and there are sockets for {}",
                              memory.count(), std::ssize(others) + 1));
  }
  return ranks::Group::Lead(std::make_unique<ranks::SharedLink>(std::move(memory), 0),
                            std::move(others),
                            {.build = Build(), .verify_steps = links.verify_steps});
}

Result<RankGroup> HostRanks(const RankHost& host,
                            const std::function<void(const RankArrival&)>& told) {
  ASSIGN_OR_RETURN(const ranks::Address address, ranks::ParseAddress(host.address));
  if (host.count < 2 || host.count > kMaxRanks || host.key.empty()) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("{} ranks and a key of {} bytes, expected 2 to {} and 1 or more",
                              host.count, host.key.size(), kMaxRanks));
  }
  ASSIGN_OR_RETURN(ranks::Socket listener, ranks::ListenAt(address));
  RankArrival arrival = {.address = ranks::OwnAddress(listener.descriptor()).Text(), .here = 1};
  const auto came = [&](int here) {
    arrival.here = here;
    if (told) told(arrival);
  };
  came(1);
  ASSIGN_OR_RETURN(ranks::Met met,
                   ranks::Host(std::move(listener), host.count,
                               {.key = host.key, .patience_seconds = host.patience_seconds}, came));
  return ranks::Group::Lead(std::move(met.link), std::move(met.channels),
                            {.build = Build(), .verify_steps = host.verify_steps});
}

void WhenRankLost(const RankGroup& group, std::function<void(const Status&)> told) {
  group->WhenLost(std::move(told));
}

// The networks of the runners that the first rank has, by its numbers.
struct RankWorker::State {
  struct Runner {
    engine::ResolvedOptions options;
    std::unique_ptr<engine::ModelNetwork> network;
    int64_t rows = 0;  // of the last step
  };

  State(RankGroup its_group, Model its_model, int its_threads)
      : group(std::move(its_group)), model(std::move(its_model)), threads(its_threads) {}

  const model::Transformer& part() const {
    return model.parts()[static_cast<size_t>(group->rank())];
  }
  // Behind a step; what a rank computes where another is gone is nothing.
  Status Alive() const { return group->lost() ? group->status() : Ok(); }
  Status Follow(const ranks::Message& order);
  Status MakeRunner(uint64_t number, ByteReader* reader);
  Status Forward(Runner* runner, ByteReader* reader);
  Status TurnToLogits(Runner* runner, ByteReader* reader);
  Status TurnDepth(Runner* runner, ByteReader* reader);
  Status CopyPage(Runner* runner, ByteReader* reader);
  Status CopyState(Runner* runner, ByteReader* reader);
  Status MovePage(uint32_t kind, Runner* runner, ByteReader* reader);
  Status MoveState(uint32_t kind, Runner* runner, ByteReader* reader);
  Status Poison(Runner* runner, ByteReader* reader);
  Status PoisonState(Runner* runner, ByteReader* reader);
  Status HashResidual(Runner* runner, ByteReader* reader);

  RankGroup group;
  Model model;
  const int threads;  // 0: those that the first rank says
  std::map<uint64_t, Runner> runners;
  engine::StepOrder step;
  std::vector<std::byte> answer;
};

Status RankWorker::State::Follow(const ranks::Message& order) {
  ByteReader reader(order.bytes);
  const auto number = reader.Read<uint64_t>();
  if (!number) return NoRankOrder();
  if (order.kind == engine::kMakeRunner) return MakeRunner(*number, &reader);
  const auto found = runners.find(*number);
  if (order.kind == engine::kDropRunner) {
    if (found != runners.end()) runners.erase(found);
    return Ok();
  }
  if (found == runners.end()) return NoRankOrder();
  Runner* runner = &found->second;
  switch (order.kind) {
    case engine::kForward: return Forward(runner, &reader);
    case engine::kTurnToLogits: return TurnToLogits(runner, &reader);
    case engine::kTurnDepthToLogits: return TurnDepth(runner, &reader);
    case engine::kCopyPage: return CopyPage(runner, &reader);
    case engine::kCopyState: return CopyState(runner, &reader);
    case engine::kSavePage:
    case engine::kLoadPage: return MovePage(order.kind, runner, &reader);
    case engine::kSaveState:
    case engine::kLoadState: return MoveState(order.kind, runner, &reader);
    case engine::kPoison: return Poison(runner, &reader);
    case engine::kPoisonState: return PoisonState(runner, &reader);
    case engine::kHashResidual: return HashResidual(runner, &reader);
    default: return NoRankOrder();
  }
}

// What does not fit into memory the first rank is told: it goes on without.
Status RankWorker::State::MakeRunner(uint64_t number, ByteReader* reader) {
  ASSIGN_OR_RETURN(engine::ResolvedOptions options, engine::ReadOptions(reader));
  if (threads > 0) options.threads = threads;
  if (reader->remaining() > 0 || !Suits(options, part().network())) return NoRankOrder();
  auto network = engine::ModelNetwork::Create(part(), options, nullptr, &group->exchange());
  if (!network.ok()) {
    group->Answer(network.status());
    return Ok();
  }
  ByteWriter facts;
  engine::Write({.memory = (*network)->memory(),
                 .page_bytes = (*network)->PageBytes(kv::PageGroup::kFull),
                 .window_page_bytes = (*network)->PageBytes(kv::PageGroup::kWindow),
                 .state_bytes = (*network)->StateBytes()},
                &facts);
  runners.insert_or_assign(number, Runner{options, *std::move(network)});
  group->Answer(Ok(), facts.bytes());
  return Ok();
}

Status RankWorker::State::Forward(Runner* runner, ByteReader* reader) {
  RETURN_IF_ERROR(step.Read(reader, runner->options, part().network()));
  runner->rows = step.batch().row_count();
  runner->network->Forward(step.batch());
  return Alive();
}

Status RankWorker::State::TurnToLogits(Runner* runner, ByteReader* reader) {
  const auto first = reader->Read<int64_t>();
  const auto count = reader->Read<int64_t>();
  const bool fits = count && *first >= 0 && *count >= 1 &&
                    *count <= runner->options.max_logit_rows && *first <= runner->rows - *count &&
                    !part().network().hidden_projection.exists();
  if (!fits) return NoRankOrder();
  runner->network->TurnToLogits(*first, *count);
  return Alive();
}

Status RankWorker::State::TurnDepth(Runner* runner, ByteReader* reader) {
  const auto width = static_cast<size_t>(part().DepthWidth());
  const size_t floats = reader->remaining() / sizeof(float);
  const auto count = static_cast<int64_t>(floats / width);
  const bool fits = reader->remaining() == floats * sizeof(float) && floats % width == 0 &&
                    count >= 1 && count <= runner->options.max_rows &&
                    count <= runner->options.max_logit_rows &&
                    !part().network().hidden_projection.exists();
  if (!fits) return NoRankOrder();
  std::vector<float> rows(floats);
  std::memcpy(rows.data(), reader->Take(reader->remaining())->data(), floats * sizeof(float));
  runner->network->TurnDepthToLogits(rows);
  return Alive();
}

Status RankWorker::State::CopyPage(Runner* runner, ByteReader* reader) {
  ASSIGN_OR_RETURN(const kv::PageCopy copy, engine::ReadPageCopy(reader, runner->options));
  runner->network->CopyPage(copy);
  return Ok();
}

Status RankWorker::State::CopyState(Runner* runner, ByteReader* reader) {
  ASSIGN_OR_RETURN(const kv::StateCopy copy, engine::ReadStateCopy(reader, runner->options));
  runner->network->CopyState(copy);
  return Ok();
}

Status RankWorker::State::MovePage(uint32_t kind, Runner* runner, ByteReader* reader) {
  const auto full = reader->Read<kv::PageId>();
  const auto window = reader->Read<kv::PageId>();
  const auto is_part = [](kv::PageId page, int64_t pages) {
    return page == kv::kNoPage || (page >= 0 && page < pages);
  };
  if (!window || !is_part(*full, runner->options.page_count) ||
      !is_part(*window, runner->options.window_page_count())) {
    return NoRankOrder();
  }
  const kv::PageParts parts = {.full = *full, .window = *window};
  const auto bytes = static_cast<size_t>(runner->network->BytesOf(parts));
  if (kind == engine::kSavePage) {
    answer.resize(bytes);
    runner->network->SavePage(parts, answer);
    group->Answer(Ok(), answer);
    return Ok();
  }
  if (reader->remaining() != bytes) return NoRankOrder();
  runner->network->LoadPage(parts, *reader->Take(bytes));
  return Ok();
}

Status RankWorker::State::MoveState(uint32_t kind, Runner* runner, ByteReader* reader) {
  const auto state = reader->Read<kv::StateId>();
  const auto begin = reader->Read<int64_t>();
  const int64_t all = runner->network->StateBytes();
  if (!begin || *state < 0 || *state >= runner->options.state_slots || *begin < 0 || *begin > all) {
    return NoRankOrder();
  }
  if (kind == engine::kSaveState) {
    const auto count = reader->Read<int64_t>();
    if (!count || *count < 0 || *count > all - *begin) return NoRankOrder();
    answer.resize(static_cast<size_t>(*count));
    runner->network->SaveState(*state, *begin, answer);
    group->Answer(Ok(), answer);
    return Ok();
  }
  const auto bytes = *reader->Take(reader->remaining());
  if (std::ssize(bytes) > all - *begin) return NoRankOrder();
  runner->network->LoadState(*state, *begin, bytes);
  return Ok();
}

Status RankWorker::State::PoisonState(Runner* runner, ByteReader* reader) {
  const auto state = reader->Read<kv::StateId>();
  if (!state || *state < 0 || *state >= runner->options.state_slots) return NoRankOrder();
  runner->network->PoisonState(*state);
  return Ok();
}

Status RankWorker::State::Poison(Runner* runner, ByteReader* reader) {
  const engine::ResolvedOptions& options = runner->options;
  const auto windowed = reader->Read<uint8_t>();
  const auto page = reader->Read<kv::PageId>();
  if (!page || *windowed > 1) return NoRankOrder();
  const int64_t pages = *windowed == 1 ? options.window_page_count() : options.page_count;
  if (*page < 0 || *page >= pages) return NoRankOrder();
  runner->network->Poison(*windowed == 1 ? kv::PageGroup::kWindow : kv::PageGroup::kFull, *page);
  return Ok();
}

Status RankWorker::State::HashResidual(Runner* runner, ByteReader* reader) {
  const auto rows = reader->Read<int64_t>();
  if (!rows || *rows < 0 || *rows > runner->options.max_rows) return NoRankOrder();
  const std::string hash = runner->network->HashResidual(*rows);
  group->Answer(Ok(), std::as_bytes(std::span(hash)));
  return Ok();
}

RankWorker::RankWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
RankWorker::~RankWorker() = default;
RankWorker::RankWorker(RankWorker&&) noexcept = default;

Result<RankWorker> RankWorker::Join(const Options& options) {
  ranks::Channel first(options.socket);
  ASSIGN_OR_RETURN(ranks::SharedRanks memory, ranks::SharedRanks::Open(options.memory));
  const auto link = [&](int rank) {
    return std::make_unique<ranks::SharedLink>(std::move(memory), rank);
  };
  ASSIGN_OR_RETURN(RankGroup group, ranks::Group::Join(link, std::move(first), {.build = Build()}));
  ASSIGN_OR_RETURN(Model model, LoadModel({.path = options.path, .group = group}));
  return RankWorker(std::make_unique<State>(std::move(group), std::move(model), 0));
}

Result<RankWorker> RankWorker::JoinAt(const RemoteOptions& options) {
  ASSIGN_OR_RETURN(const ranks::Address address, ranks::ParseAddress(options.address));
  ASSIGN_OR_RETURN(const engine::Hardware hardware,
                   engine::ResolveHardware(options.threads, "best"));
  ASSIGN_OR_RETURN(ranks::Met met, ranks::Attend(address, options.port,
                                                 {.key = options.key,
                                                  .patience_seconds = options.patience_seconds}));
  const auto link = [&](int) { return std::move(met.link); };
  ASSIGN_OR_RETURN(RankGroup group,
                   ranks::Group::Join(link, std::move(met.channels.front()), {.build = Build()}));
  ASSIGN_OR_RETURN(Model model,
                   LoadModel({.path = options.path, .threads = hardware.threads, .group = group}));
  return RankWorker(std::make_unique<State>(std::move(group), std::move(model), hardware.threads));
}

// The first rank ends between two orders, and then there is none to come.
Status RankWorker::Run() {
  const FloatMode mode;
  ranks::Group& group = *state_->group;
  group.Watch();
  ranks::Message order;
  while (group.Next(&order).ok()) RETURN_IF_ERROR(state_->Follow(order));
  return group.first_stands_still() ? group.status() : Ok();
}

bool RankWorker::first_stands_still() const { return state_->group->first_stands_still(); }

}  // namespace skald
