#include "server/console/console_feed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_writer.h"

namespace skald::server {

namespace {

constexpr std::string_view kPartNames[] = {"step", "stats", "pages", "requests", "tree"};

std::string EventOf(std::string_view name, std::string_view json) {
  std::string event = "event: ";
  event += name;
  event += "\ndata: ";
  event += json;  // compact: no line feed
  event += "\n\n";
  return event;
}

}  // namespace

// One page that watches.
class ConsoleFeed::Watcher final : public Exchange {
 public:
  Watcher(std::shared_ptr<const Tenant> tenant, AnswerChannel& channel)
      : tenant_(std::move(tenant)), channel_(&channel) {}

  const Tenant& tenant() const { return *tenant_; }
  bool is_open() const { return channel_ != nullptr; }
  void Begin(std::string_view hello) {
    channel_->BeginStream({}, {});
    channel_->Write(EventOf("hello", hello));
  }
  void End() {
    if (channel_ != nullptr) std::exchange(channel_, nullptr)->EndStream();
  }

  // Of what it may see, what it has not yet been told; nothing while it is behind.
  void Tell(const Parts& parts, double engine_seconds, double now) {
    if (channel_->backlog() > kMostBacklog) return;
    std::string events;
    for (size_t i = 0; i < kPartCount; ++i) {
      if (parts[i] == nullptr || parts[i] == told_[i]) continue;
      events += EventOf(kPartNames[i], *parts[i]);
      told_[i] = parts[i];
    }
    if (events.empty() && now - ticked_ < kTickSeconds) return;
    ticked_ = now;
    JsonWriter json;
    json.BeginObject().Key("now").Double(std::round(engine_seconds * 1e3) / 1e3).EndObject();
    // First: times of the parts are compared with it.
    channel_->Write(EventOf("tick", json.Take()) + events);
  }

  void OnGone() override { channel_ = nullptr; }
  void OnWritable() override {}  // the next beat sees it
  void OnShutdown() override { End(); }
  void OnTick() override {}
  ExchangeSummary Summary() const override { return {}; }

 private:
  std::shared_ptr<const Tenant> tenant_;
  AnswerChannel* channel_;
  Parts told_;
  double ticked_ = -kTickSeconds;
};

ConsoleFeed::ConsoleFeed(ConsoleSetup setup, std::shared_ptr<const ApiKeys> keys)
    : setup_(std::move(setup)), keys_(std::move(keys)), owners_(keys_) {}

ConsoleFeed::~ConsoleFeed() = default;

OrError<std::shared_ptr<Exchange>> ConsoleFeed::Watch(std::shared_ptr<const Tenant> tenant,
                                                      AnswerChannel& channel) {
  std::erase_if(watchers_, [](const auto& each) {
    const auto watcher = each.lock();
    return watcher == nullptr || !watcher->is_open();
  });
  const auto own = std::count_if(watchers_.begin(), watchers_.end(), [&](const auto& each) {
    return each.lock()->tenant().id == tenant->id;
  });
  if (watchers_.size() >= kMostWatchers || own >= static_cast<int64_t>(kMostOfOne)) {
    return ApiError{.status = 429,
                    .message = "the console is open " + std::to_string(own) +
                               " times for you and " + std::to_string(watchers_.size()) +
                               " times in all, of at most " + std::to_string(kMostOfOne) + " and " +
                               std::to_string(kMostWatchers),
                    .code = "rate_limit_exceeded",
                    .retry_seconds = 5};
  }
  auto watcher = std::make_shared<Watcher>(std::move(tenant), channel);
  watchers_.push_back(watcher);
  watcher->Begin(Hello(watcher->tenant()));
  setup_.engine.Look();  // so that there is a view at the first beat
  ScheduleBeat();
  return watcher;
}

void ConsoleFeed::SetKeys(std::shared_ptr<const ApiKeys> keys) {
  EndAll();
  keys_ = std::move(keys);
  owners_ = NamespaceOwners(keys_);
  told_ = told_tree_ = nullptr;
  parts_.clear();
}

void ConsoleFeed::EndAll() {
  for (const auto& each : std::exchange(watchers_, {})) {
    if (const auto watcher = each.lock()) watcher->End();
  }
}

void ConsoleFeed::ScheduleBeat() {
  if (std::exchange(beating_, true) || !setup_.later) return;
  setup_.later(kBeatSeconds, [this] {
    beating_ = false;
    Beat();
  });
}

void ConsoleFeed::Beat() {
  std::vector<std::shared_ptr<Watcher>> open;
  for (const auto& each : watchers_) {
    auto watcher = each.lock();
    if (watcher != nullptr && watcher->is_open()) open.push_back(std::move(watcher));
  }
  if (open.empty()) {
    parts_.clear();
    told_ = told_tree_ = nullptr;
    return;
  }
  ScheduleBeat();
  const EngineLook look = setup_.engine.Look();
  if (look.view == nullptr) return;
  const double now = setup_.clock.Now();
  const bool is_new = look.view != told_ || look.arrived.size() != told_arrived_;
  const bool tree_is_due = look.view != told_tree_ && now - told_tree_seconds_ >= kTreeSeconds;
  const ConsoleInput input = {.look = look,
                              .owners = owners_,
                              .tokenizer = setup_.served.model.tokenizer(),
                              .work = setup_.engine.WorkOf(look.view->step.work),
                              .last_work = setup_.engine.WorkOf(look.view->last.work),
                              .ceilings = setup_.ceilings};
  // Parts of who watches no more go.
  std::map<TenantId, Parts> parts;
  for (const auto& watcher : open) {
    const TenantId id = watcher->tenant().id;
    const auto [place, is_first] = parts.try_emplace(id);
    if (!is_first) continue;
    const auto before = parts_.find(id);
    if (before != parts_.end()) place->second = before->second;
    const bool comes = before == parts_.end();
    if (is_new || comes) MakeParts(input, watcher->tenant(), &place->second);
    if (tree_is_due || comes) Renew(TreeJson(input, watcher->tenant()), &place->second[kTree]);
  }
  parts_ = std::move(parts);
  told_ = look.view;
  told_arrived_ = look.arrived.size();
  if (tree_is_due) {
    told_tree_ = look.view;
    told_tree_seconds_ = now;
  }
  for (const auto& watcher : open) watcher->Tell(parts_[watcher->tenant().id], look.seconds, now);
}

void ConsoleFeed::MakeParts(const ConsoleInput& input, const Tenant& tenant, Parts* parts) {
  if (tenant.rights.admin) {
    Renew(StepJson(input), &(*parts)[kStep]);
    Renew(StatsJson(input), &(*parts)[kStats]);
    Renew(PagesJson(input), &(*parts)[kPages]);
  }
  Renew(RequestsJson(input, tenant), &(*parts)[kRequests]);
}

// The same text stays the same part: it is not told again.
void ConsoleFeed::Renew(std::string made, Text* part) {
  if (*part != nullptr && **part == made) return;
  *part = std::make_shared<const std::string>(std::move(made));
}

std::string ConsoleFeed::Hello(const Tenant& tenant) const {
  const ModelInfo& info = setup_.served.model.info();
  JsonWriter json;
  json.BeginObject().Key("model").String(setup_.served.name);
  json.Key("type").String(info.weights_type).Key("parameters").Int(info.parameter_count);
  json.Key("version").String(setup_.version).Key("chat").Bool(!info.chat_template.empty());
  json.Key("isa").String(setup_.engine.isa_name()).Key("threads").Int(setup_.engine.threads());
  json.Key("context").Int(setup_.engine.context());
  json.Key("places").Int(setup_.engine.max_running());
  json.Key("admin").Bool(tenant.rights.admin).Key("tenant").String(tenant.name);
  json.Key("keys").Bool(!keys_->empty()).EndObject();
  return json.Take();
}

}  // namespace skald::server
