#include "sim/workload.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "sim/constraints.h"
#include "sim/fake_network.h"
#include "sim/seeded.h"

namespace skald::sim {
namespace {

constexpr std::array<int64_t, 12> kLengths = {1, 2, 5, 13, 31, 32, 33, 45, 63, 64, 65, 90};

// Few words, so that prompts agree by chance too.
TokenId DrawToken(Seeded& draw) { return static_cast<TokenId>(draw.Between(1, 4)); }

void Append(Seeded& draw, int64_t count, std::vector<TokenId>* tokens) {
  for (int64_t i = 0; i < count; ++i) tokens->push_back(DrawToken(draw));
}

// Texts that begin alike: each goes on from a cut of an earlier one.
std::vector<std::vector<TokenId>> DrawTrunks(Seeded& draw) {
  std::vector<std::vector<TokenId>> trunks(static_cast<size_t>(draw.Between(1, 4)));
  for (size_t i = 0; i < trunks.size(); ++i) {
    if (i > 0) {
      trunks[i] = trunks[static_cast<size_t>(draw.Between(0, static_cast<int64_t>(i) - 1))];
      trunks[i].resize(
          static_cast<size_t>(draw.Between(0, static_cast<int64_t>(trunks[i].size()))));
    }
    Append(draw, draw.OneOf(kLengths), &trunks[i]);
  }
  return trunks;
}

SamplingParams DrawSampling(Seeded& draw) {
  SamplingParams sampling;
  sampling.seed = static_cast<uint64_t>(draw.Between(0, 3));
  sampling.temperature = draw.OneIn(4) ? 0 : 1;
  if (draw.OneIn(8)) sampling.penalties = {.repetition = 1.2, .presence = 0.5, .frequency = 0.5};
  return sampling;
}

StopRules DrawStop(Seeded& draw) {
  StopRules stop;
  if (!draw.OneIn(8)) stop.max_tokens = draw.Between(0, 40);
  stop.ignore_eos = draw.OneIn(2);
  if (draw.OneIn(3)) stop.stop_tokens = {static_cast<TokenId>(draw.Between(1, kVocab - 1))};
  if (draw.OneIn(4)) stop.min_tokens = std::max<int64_t>(0, std::min<int64_t>(stop.max_tokens, 5));
  return stop;
}

Reader DrawReader(Seeded& draw, const Request& request) {
  Reader reader;
  if (draw.OneIn(5)) {
    reader.capacity = 2 * request.sequence_count() + 2 + draw.Between(0, 6);
    reader.reads_one_in = draw.Between(1, 12);
    // Such a reader never comes back: something else must end the request.
    if (request.deadline_seconds && draw.OneIn(3)) reader.reads_one_in = 0;
  }
  if (draw.OneIn(16)) reader.gone_at_event = draw.Between(0, 30);
  // Who has gone cannot answer that the text ends.
  if (reader.gone_at_event < 0 && draw.OneIn(4)) {
    for (int64_t i = draw.Between(1, 2); i > 0; --i) {
      reader.stop.push_back(static_cast<TokenId>(draw.Between(0, kVocab - 1)));
    }
  }
  return reader;
}

Request DrawRequest(Seeded& draw, const std::vector<std::vector<TokenId>>& trunks,
                    int64_t most_namespaces) {
  Request request;
  const auto& trunk =
      trunks[static_cast<size_t>(draw.Between(0, static_cast<int64_t>(trunks.size()) - 1))];
  const auto length = static_cast<int64_t>(trunk.size());
  const int64_t kept = draw.OneIn(2) ? length : draw.Between(0, length);
  request.prompt.assign(trunk.begin(), trunk.begin() + kept);
  Append(draw, draw.OneIn(2) ? draw.Between(1, 4) : draw.OneOf(kLengths), &request.prompt);
  request.sampling = DrawSampling(draw);
  request.stop = DrawStop(draw);
  request.cache_namespace = static_cast<uint64_t>(draw.Between(0, most_namespaces - 1));
  if (draw.OneIn(4)) request.priority = static_cast<int32_t>(draw.Between(-1, 1));
  if (draw.OneIn(8)) request.deadline_seconds = draw.Uniform() * 3;
  if (draw.OneIn(4)) request.n = static_cast<int32_t>(draw.Between(1, 4));
  if (draw.OneIn(8)) request.max_draft = draw.Between(0, 3);
  if (draw.OneIn(8)) request.best_of = request.n + static_cast<int32_t>(draw.Between(0, 2));
  if (request.best_of == 0 && draw.OneIn(5)) {
    constexpr std::array<double, 4> kPenalties = {-0.5, 0, 1, 2};
    request.beam_search = {.beams = static_cast<int32_t>(draw.Between(request.n, 5)),
                           .length_penalty = kPenalties[static_cast<size_t>(draw.Between(0, 3))],
                           .stop = static_cast<BeamStop>(draw.Between(0, 2))};
  }
  if (request.width() == 1 && request.beam_search.beams == 0 && draw.OneIn(6)) {
    request.pooling = draw.OneIn(3) ? Pooling::kLast : Pooling::kMean;
    const bool is_mean = request.pooling == Pooling::kMean;
    if (is_mean && request.prompt.size() % 3 == 0) request.pooling = Pooling::kFirst;
  }
  return request;
}

// CoreLimits of speculation, fixed lengths among them.
void DrawGuessing(Seeded& draw, Workload* workload) {
  if (draw.OneIn(3)) return;
  workload->guessing = static_cast<Guessing>(draw.Between(1, 5));
  workload->draft_page_count = draw.Between(1, workload->page_count);
  workload->draft_rows = draw.Between(1, 64);
  workload->core.most_draft = draw.Between(1, 6);
  if (draw.OneIn(2)) workload->core.least_draft = draw.Between(0, workload->core.most_draft);
  workload->core.max_draft_rows = draw.Between(1, 12);
}

// Without speculation there is forced text, in half of the seeds. Numbers of their own.
void DrawForced(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 6);
  if (workload->guessing != Guessing::kNone || workload->state_slots > 0 || draw.OneIn(2)) return;
  workload->guessing = Guessing::kForced;
  workload->core.drafts = engine::DraftRule::kConstrained;
  workload->core.most_draft = draw.Between(1, 8);
  if (draw.OneIn(2)) workload->core.least_draft = draw.Between(0, workload->core.most_draft);
  workload->core.max_draft_rows = draw.Between(1, 16);
}

// Who asks, and how fast readers read: numbers of their own, so that the seeds known to find
// something go on finding it.
void DrawTenantsAndReaders(uint64_t seed, Workload* workload) {
  Seeded draw(~seed);
  const int64_t tenants = draw.OneIn(2) ? 1 : draw.Between(2, 4);
  std::vector<int32_t> shares;
  std::vector<int32_t> bounds;
  for (int64_t i = 0; i < tenants; ++i) {
    shares.push_back(static_cast<int32_t>(draw.OneIn(4) ? draw.Between(1, kMaxTenantShare)
                                                        : draw.Between(1, 3)));
    const bool bounded = draw.OneIn(4);
    bounds.push_back(bounded ? static_cast<int32_t>(draw.Between(1, workload->core.max_running))
                             : 0);
  }
  for (Client& client : workload->clients) {
    const auto tenant = static_cast<size_t>(draw.Between(0, tenants - 1));
    client.request.tenant = static_cast<int64_t>(tenant) * 1000 - 1;
    client.request.tenant_share = shares[tenant];
    if (bounds[tenant] > 0) {
      client.request.tenant_running = std::max(bounds[tenant], client.request.width());
    }
    if (draw.OneIn(2)) client.reader.reads_events = draw.Between(1, 4);
    if (draw.OneIn(6)) {
      client.reader.capacity =
          std::min(client.reader.capacity, 2 * int64_t{client.request.sequence_count()} + 2);
      client.reader.reads_one_in = std::min<int64_t>(client.reader.reads_one_in, 2);
    }
  }
}

// A model that reads texts both ways: all requests are for embeddings, and no text is cut.
void MakeWhole(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 2);
  engine::CoreLimits& core = workload->core;
  core.prompts = engine::PromptRule::kWhole;
  core.max_chunk = core.context;
  core.max_rows = std::max(core.max_chunk, core.max_running);
  workload->guessing = Guessing::kNone;
  core.most_draft = core.least_draft = core.max_draft_rows = 0;
  constexpr std::array kPoolings = {Pooling::kFirst, Pooling::kLast, Pooling::kMean};
  for (Client& client : workload->clients) {
    client.request.n = 1;
    client.request.best_of = 0;
    client.request.beam_search = {};
    client.request.pooling = kPoolings[static_cast<size_t>(draw.Between(0, 2))];
  }
}

// Slots beyond those of the running ones: in half of the seeds none.
void DrawSnapshots(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 1);
  if (workload->state_slots > 0 && draw.OneIn(2)) workload->state_slots += draw.Between(1, 12);
}

// One request in four that generates is kept to a text, with parameters under which a mask is made
// for each token, or for few. Numbers of their own again.
void DrawConstraints(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 3);
  if (draw.OneIn(3)) workload->masks = engine::MaskRule::kAlways;
  for (Client& client : workload->clients) {
    Request& request = client.request;
    if (request.pooling != Pooling::kNone || !draw.OneIn(4)) continue;
    request.constraint = DrawConstraint(draw);
    Truncation& truncation = request.sampling.truncation;
    if (draw.OneIn(2)) truncation.top_k = static_cast<int32_t>(draw.Between(0, 2));
    if (draw.OneIn(2)) truncation.top_p = 1;
  }
}

// How much of a mask a step makes. None of the seeds that once failed is among those that make
// few.
void DrawMaskSteps(uint64_t seed, Workload* workload) {
  const uint64_t kind = seed % 11;
  if (kind != 0 && kind != 2 && kind != 7 && kind != 8) return;
  Seeded draw(~seed ^ 9);
  workload->core.mask_steps = draw.Between(0, 15);
}

// One request in three that samples has one or two of the samplers beside the filters. Numbers of
// their own again.
void DrawSamplers(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 4);
  for (Client& client : workload->clients) {
    SamplingParams& sampling = client.request.sampling;
    if (!draw.OneIn(3)) continue;
    if (draw.OneIn(2)) sampling.mirostat = {.version = 2, .tau = draw.Uniform() * 3, .eta = 0.3};
    if (draw.OneIn(3)) sampling.dry = {.multiplier = 0.8, .allowed_length = 1, .breakers = {2}};
    if (draw.OneIn(3)) sampling.truncation.xtc_probability = 0.5;
    if (draw.OneIn(3)) sampling.truncation.top_n_sigma = 1;
    if (draw.OneIn(3)) sampling.dynamic_temperature.range = 0.8;
  }
}

// One request in six that generates is told the log probabilities of its prompt, for which its sink
// has room. Numbers of their own again.
void DrawPromptLogprobs(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 6);
  for (Client& client : workload->clients) {
    Request& request = client.request;
    const bool generates = request.pooling == Pooling::kNone && request.beam_search.beams == 0;
    if (!generates || !draw.OneIn(6)) continue;
    request.prompt_logprobs = static_cast<int32_t>(draw.Between(0, 3));
    client.reader.capacity = std::max(client.reader.capacity, request.least_room());
    if (draw.OneIn(4)) request.stop = {.max_tokens = 0};
  }
}

// Half of the requests say where others will go on, anywhere in their prompts. Numbers of their own
// again.
void DrawPlaces(uint64_t seed, Workload* workload) {
  Seeded draw(~seed ^ 7);
  if (workload->state_slots == 0) return;
  for (Client& client : workload->clients) {
    const int64_t most = std::ssize(client.request.prompt) - 1;
    std::vector<int64_t>& places = client.request.places;
    int64_t count = draw.OneIn(2) ? draw.Between(1, int64_t{kMaxPlaces}) : 0;
    for (; count > 0 && most > 0; --count) places.push_back(draw.Between(1, most));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
}

// As the widest request needs.
int64_t FewestWindowPages(const Workload& workload, const kv::WindowLimits& windows) {
  int64_t widest = 1;
  for (const Client& client : workload.clients) {
    widest = std::max<int64_t>(widest, client.request.beam_search.beams);
  }
  const int64_t each = (windows.positions + workload.core.most_draft) / kernels::kPageTokens + 4 +
                       DivCeil<int64_t>(windows.pinned, kernels::kPageTokens);
  const int64_t least = widest * each + workload.core.max_rows / kernels::kPageTokens + 1;
  return std::min(least, workload.page_count);
}

// Layers with windows, beside a state or not: no seed that once failed is among them. A third of
// them have pinned positions. The window pages are as few as possible, or more.
void DrawWindows(uint64_t seed, Workload* workload) {
  const uint64_t kind = seed % 16;
  if (kind != 1 && kind != 3 && kind != 14 && kind % 8 != 4) return;
  Seeded draw(~seed ^ 5);
  kv::WindowLimits& windows = workload->windows;
  windows.positions = draw.OneIn(2) ? draw.Between(1, 8) : draw.Between(1, 80);
  Seeded draw_pinned(~seed ^ 11);
  if (draw_pinned.OneIn(3)) windows.pinned = draw_pinned.Between(1, 70);
  const int64_t pages = FewestWindowPages(*workload, windows);
  windows.pages = draw.OneIn(2) ? pages : draw.Between(pages, workload->page_count);
}

// So few that most snapshots leave memory.
void LimitSlots(Seeded* draw, Workload* workload) {
  workload->core.max_running = std::min<int64_t>(workload->core.max_running, draw->Between(1, 3));
  workload->state_slots = workload->core.max_running + draw->Between(0, 1);
}

// With states and windows only what is a page longer is worth to be brought.
void LengthenPrompts(Seeded* draw, Workload* workload) {
  for (Client& client : workload->clients) {
    std::vector<TokenId> front(static_cast<size_t>(draw->Between(30, 70)));
    for (TokenId& token : front) token = static_cast<TokenId>(draw->Between(1, kVocab - 1));
    client.request.prompt.insert(client.request.prompt.begin(), front.begin(), front.end());
  }
}

// A state behind the answer of the first is of use to the second only if it knows that answer. So
// most of the first end behind their prompts, and the second ask for more than these.
void AskForMore(Seeded* draw, Workload* workload, std::vector<Client>* again) {
  for (Client& client : workload->clients) {
    if (!draw->OneIn(4)) client.request.stop.max_tokens = 1;
  }
  for (Client& client : *again) client.request.prompt.push_back(TokenId{1});
}

// No seed that once failed ends like these. Everybody comes back, when memory has given up some of
// what was computed for him.
void DrawShelf(uint64_t seed, Workload* workload) {
  workload->has_shelf = seed % 5 == 3 && workload->core.prompts == engine::PromptRule::kInChunks;
  if (!workload->has_shelf) return;
  Seeded draw(seed ^ 0x5e1f2);
  const int64_t least = workload->core.context / kernels::kPageTokens + 2;
  workload->page_count = std::min(workload->page_count, least + draw.Between(0, 2));
  kv::WindowLimits& windows = workload->windows;
  if (windows.pages > 0) {
    // What one sees of a text that ends in the middle of a page is no whole page otherwise.
    windows.positions = draw.Between(20, 90);
    windows.pages = FewestWindowPages(*workload, windows);
  }
  const auto drop_refused = [workload] {
    std::erase_if(workload->clients, [workload](const Client& client) {
      return !engine::CheckRequest(client.request, workload->request_limits()).ok();
    });
  };
  if (workload->state_slots > 0) LimitSlots(&draw, workload);
  if (workload->state_slots > 0 || windows.pages > 0) LengthenPrompts(&draw, workload);
  drop_refused();
  std::vector<Client> again = workload->clients;
  if (workload->state_slots > 0) AskForMore(&draw, workload, &again);
  double now = again.empty() ? 0 : again.back().arrives_seconds;
  // No more than a queue from which the first in order is served within kMaxStarvedSteps.
  const int64_t few = 12 / std::max<int64_t>(1, std::ssize(again));
  const bool goes_on_rarely = workload->state_slots > 0 || windows.pages > 0;
  const int64_t rounds = goes_on_rarely ? std::clamp<int64_t>(few, 1, 4) : 1;
  for (int64_t round = 0; round < rounds; ++round) {
    for (Client client : again) {
      now += draw.Uniform() * 0.2;
      client.cancelled_seconds += now - client.arrives_seconds;
      client.arrives_seconds = now;
      workload->clients.push_back(std::move(client));
    }
  }
  drop_refused();
}

}  // namespace

engine::RequestLimits Workload::request_limits() const {
  return {.context = core.context,
          .vocab = kVocab,
          .page_count = page_count,
          .max_running = core.max_running,
          .has_states = state_slots > 0,
          .generates = core.prompts != engine::PromptRule::kWhole};
}

Workload DrawWorkload(uint64_t seed) {
  Seeded draw(seed);
  Workload workload;
  engine::CoreLimits& core = workload.core;
  core.context = draw.Between(16, 256);
  core.max_running = draw.Between(1, 8);
  // None of the seeds that once failed is among them: they go on as they were.
  if (seed % 4 == 0) workload.state_slots = core.max_running;
  core.max_chunk = draw.OneIn(2) ? draw.Between(1, 12) : draw.Between(1, 128);
  core.max_rows = std::max(core.max_chunk, core.max_running);
  if (draw.OneIn(2)) core.max_overtaken = static_cast<int32_t>(draw.Between(1, 6));
  core.target_seconds = draw.OneIn(3) ? draw.Uniform() * 0.05 : 0;
  const int64_t least = core.context / kernels::kPageTokens + 2;
  workload.page_count = draw.OneIn(2) ? draw.Between(least, least + 4) : draw.Between(least, 64);
  workload.row_seconds = draw.Uniform() * 1e-3;
  workload.step_seconds = 1e-3 + draw.Uniform() * 1e-2;
  const auto trunks = DrawTrunks(draw);
  const int64_t namespaces = draw.OneIn(2) ? 1 : draw.Between(1, 3);
  const int64_t count = draw.OneIn(8) ? draw.Between(20, 40) : draw.Between(1, 12);
  const double pause = draw.Uniform() * 0.1;
  double now = 0;
  for (int64_t i = 0; i < count; ++i) {
    Client client{.request = DrawRequest(draw, trunks, namespaces)};
    if (!draw.OneIn(3)) now += draw.Uniform() * pause;
    client.arrives_seconds = now;
    if (draw.OneIn(5)) client.cancelled_seconds = now + draw.Uniform() * 0.5;
    client.reader = DrawReader(draw, client.request);
    // Beams choose in their own way.
    if (client.request.beam_search.beams == 0 && draw.OneIn(24)) {
      client.fails_at_token = draw.Between(0, 12);
    }
    if (!engine::CheckRequest(client.request, workload.request_limits()).ok()) continue;
    workload.clients.push_back(std::move(client));
  }
  DrawGuessing(draw, &workload);
  if (workload.state_slots > 0) {  // as Resolve has it
    workload.guessing = Guessing::kNone;
    core.most_draft = core.least_draft = core.max_draft_rows = 0;
  }
  DrawForced(seed, &workload);
  // None of these has failed either.
  if (seed % 16 == 9) MakeWhole(seed, &workload);
  DrawTenantsAndReaders(seed, &workload);
  DrawSnapshots(seed, &workload);
  DrawConstraints(seed, &workload);
  DrawMaskSteps(seed, &workload);
  DrawSamplers(seed, &workload);
  DrawPromptLogprobs(seed, &workload);
  DrawWindows(seed, &workload);
  DrawShelf(seed, &workload);
  DrawPlaces(seed, &workload);
  workload.seed = seed;
  return workload;
}

}  // namespace skald::sim
