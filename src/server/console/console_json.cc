#include "server/console/console_json.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/json_writer.h"

namespace skald::server {

namespace {

// Digits beyond these would make every part new each time: 10 us.
double Rounded(double seconds) { return std::round(seconds * 1e5) / 1e5; }

// The labels of requests are of the server: "TENANT/ID".
std::string_view IdOf(const RequestProgress& request) {
  const std::string_view label = request.label;
  return label.substr(label.find('/') + 1);
}

// [bucket, count, ...] of those that count something.
void WriteHistogram(const Histogram& histogram, JsonWriter& json) {
  json.BeginArray();
  for (int i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.bucket(i) > 0) json.Int(i).Int(histogram.bucket(i));
  }
  json.EndArray();
}

void WriteCount(std::string_view name, int64_t value, JsonWriter& json) {
  json.Key(name).Int(value);
}

void WriteRequest(const RequestProgress& request, const NamespaceOwners& owners, JsonWriter& json) {
  json.BeginObject().Key("number").Uint(static_cast<uint64_t>(request.id));
  json.Key("id").String(IdOf(request)).Key("tenant").String(owners.NameOf(request.tenant));
  json.Key("state").String(RequestPhaseName(request.phase));
  WriteCount("sequences", request.sequences, json);
  WriteCount("prompt", request.prompt_tokens, json);
  WriteCount("cached", request.cached_tokens, json);
  WriteCount("computed", request.computed_tokens, json);
  WriteCount("output", request.output_tokens, json);
  WriteCount("pages", request.pages, json);
  json.Key("submitted").Double(Rounded(request.submitted_seconds));
  json.Key("first").Double(request.first_token_seconds ? Rounded(*request.first_token_seconds)
                                                       : std::nan(""));
  json.Key("last").Double(Rounded(request.last_token_seconds)).EndObject();
}

// The least work of a step, and the least time for it, if the machine was measured.
void WriteWork(const BenchWork& work, const std::optional<Ceilings>& ceilings, JsonWriter& json) {
  json.Key("bytes").Double(std::round(work.bytes));
  json.Key("macs").Double(std::round(work.int8_macs + work.bfloat16_macs + work.float_macs));
  if (!ceilings) return;
  const Bound bound = BoundOf(work, *ceilings);
  json.Key("bound").Double(Rounded(bound.seconds));
  json.Key("bound_by").String(ResourceName(bound.resource));
}

std::string TextOf(const ViewedEdge& edge, const Tokenizer& tokenizer) {
  const bool begins = edge.begin == 0;
  return tokenizer.Decode(edge.tokens,
                          {.control = ControlTokens::kShow,
                           .from = begins ? DecodeFrom::kStart : DecodeFrom::kContinuation});
}

void WriteEdge(const ViewedEdge& edge, int32_t parent, JsonWriter& json) {
  json.BeginObject().Key("parent").Int(parent);
  json.Key("begin").Int(edge.begin).Key("end").Int(edge.end).Key("below").Int(edge.below);
  json.Key("used").Bool(edge.in_use).Key("state").Bool(edge.has_state);
  // Two digits are more than a person sees.
  json.Key("age").Double(std::round(double{edge.age} * 100) / 100);
}

}  // namespace

NamespaceOwners::NamespaceOwners(std::shared_ptr<const ApiKeys> keys) : keys_(std::move(keys)) {
  for (const auto& tenant : keys_->tenants()) {
    owners_.emplace(keys_->CacheNamespace(tenant->id, {}), tenant.get());
    tenants_.emplace(tenant->id, tenant.get());
  }
}

bool NamespaceOwners::MayRead(const Tenant& tenant, uint64_t space) const {
  if (keys_->empty()) return true;
  const auto owner = owners_.find(space);
  return owner != owners_.end() && owner->second->id == tenant.id;
}

std::string_view NamespaceOwners::NameOf(uint64_t space) const {
  const auto owner = owners_.find(space);
  return owner == owners_.end() ? std::string_view("salted") : owner->second->name;
}

std::string_view NamespaceOwners::NameOf(TenantId tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? std::string_view() : found->second->name;
}

std::string StepJson(const ConsoleInput& input) {
  const ViewedStep& step = input.look.view->step;
  JsonWriter json;
  json.BeginObject().Key("number").Int(step.number).Key("computing").Bool(step.computing);
  json.Key("began").Double(Rounded(step.began_seconds));
  WriteCount("decode_rows", step.decode_rows, json);
  WriteCount("prompt_rows", step.prompt_rows, json);
  WriteCount("guessed_rows", step.guessed_rows, json);
  WriteCount("prompt_budget", step.prompt_budget, json);
  WriteCount("sequences", step.work.sequences, json);
  WriteCount("admitted", step.admitted, json);
  WriteCount("preempted", step.preempted, json);
  json.Key("expected").Double(Rounded(step.expected_seconds));
  WriteWork(input.work, input.ceilings, json);
  const ViewedPast& last = input.look.view->last;
  json.Key("last").BeginObject().Key("seconds").Double(Rounded(last.seconds));
  WriteCount("rows", last.work.rows, json);
  WriteCount("sequences", last.work.sequences, json);
  WriteWork(input.last_work, input.ceilings, json);
  json.EndObject().Key("view_seconds").Double(Rounded(input.look.view->cost_seconds));
  json.Key("rows").BeginArray();
  for (const ViewedRows& rows : step.rows) {
    json.BeginArray().Uint(static_cast<uint64_t>(rows.request)).Int(rows.rows);
    json.String(RowReasonName(rows.reason)).EndArray();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string StatsJson(const ConsoleInput& input) {
  const EngineStats& stats = input.look.view->stats;
  JsonWriter json;
  json.BeginObject();
  WriteCount("running", stats.running, json);
  WriteCount("waiting", stats.waiting + static_cast<int64_t>(input.look.arrived.size()), json);
  WriteCount("steps", stats.steps, json);
  WriteCount("submitted", stats.submitted, json);
  WriteCount("prompt_tokens", stats.prompt_tokens, json);
  WriteCount("cached_tokens", stats.prompt_tokens_cached, json);
  WriteCount("output_tokens", stats.output_tokens, json);
  WriteCount("preemptions", stats.preemptions, json);
  WriteCount("evicted", stats.pages_evicted, json);
  WriteCount("free", stats.pages_free, json);
  WriteCount("held", stats.pages_held, json);
  WriteCount("cached", stats.pages_cached, json);
  WriteCount("window_free", stats.window_pages_free, json);
  WriteCount("window_total", stats.window_pages_total, json);
  WriteCount("states_free", stats.states_free, json);
  WriteCount("states_cached", stats.states_cached, json);
  WriteCount("states_total", stats.states_total, json);
  json.Key("ttft");
  WriteHistogram(stats.ttft_seconds, json);
  json.Key("tbt");
  WriteHistogram(stats.tbt_seconds, json);
  json.EndObject();
  return json.Take();
}

std::string PagesJson(const ConsoleInput& input) {
  const EngineView& view = *input.look.view;
  const std::vector<PageCell>& cells = view.pages.cells;
  JsonWriter json;
  json.BeginObject().Key("count").Int(view.pages.page_count);
  json.Key("per_cell").Int(view.pages.pages_per_cell);
  // [how often, free, cached, held, shared, number of a request or 0], ...: each a run of cells.
  json.Key("runs").BeginArray();
  for (size_t i = 0; i < cells.size();) {
    size_t end = i + 1;
    while (end < cells.size() && cells[end] == cells[i]) ++end;
    const PageCell& cell = cells[i];
    const auto holder = static_cast<size_t>(cell.request);
    const bool known = cell.request >= 0 && holder < view.requests.size();
    json.BeginArray().Uint(end - i).Int(cell.free).Int(cell.cached).Int(cell.held).Int(cell.shared);
    json.Uint(known ? static_cast<uint64_t>(view.requests[holder].id) : 0).EndArray();
    i = end;
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string RequestsJson(const ConsoleInput& input, const Tenant& viewer) {
  JsonWriter json;
  json.BeginArray();
  const auto write = [&](std::span<const RequestProgress> requests) {
    for (const RequestProgress& request : requests) {
      if (viewer.rights.admin || request.tenant == viewer.id)
        WriteRequest(request, input.owners, json);
    }
  };
  write(input.look.view->requests);
  write(input.look.arrived);
  json.EndArray();
  return json.Take();
}

std::string TreeJson(const ConsoleInput& input, const Tenant& viewer) {
  const PrefixView& view = input.look.view->prefixes;
  JsonWriter json;
  json.BeginObject();
  if (viewer.rights.admin)
    json.Key("tokens").Int(view.token_count).Key("roots").Int(view.root_count);
  json.Key("edges").BeginArray();
  // Where each edge stands in what is told, and whether its text may be: as its root.
  std::vector<int32_t> told(view.edges.size(), -1);
  std::vector<bool> readable(view.edges.size());
  int32_t next = 0;
  for (size_t i = 0; i < view.edges.size(); ++i) {
    const ViewedEdge& edge = view.edges[i];
    const bool is_root = edge.parent < 0;
    const auto parent = static_cast<size_t>(std::max(edge.parent, 0));
    readable[i] = is_root ? input.owners.MayRead(viewer, edge.space) : readable[parent];
    if (!readable[i] && !viewer.rights.admin) continue;
    told[i] = next++;
    WriteEdge(edge, is_root ? -1 : told[parent], json);
    if (is_root) json.Key("owner").String(input.owners.NameOf(edge.space));
    if (!is_root && readable[i]) json.Key("text").String(TextOf(edge, input.tokenizer));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace skald::server
