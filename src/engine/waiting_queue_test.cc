#include "engine/waiting_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/rng.h"
#include "engine/step_plan.h"

namespace skald::engine {
namespace {

// Counts how often it is asked.
class CountingSink : public EventSink {
 public:
  explicit CountingSink(int64_t* asked) : asked_(*asked) {}
  Listening Push(const Event&) override { return Listening::kGoOn; }
  bool HasRoom(int64_t) const override {
    ++asked_;
    return has_room;
  }
  bool has_room = true;

 private:
  int64_t& asked_;
};

class WaitingQueueTest : public testing::Test {
 protected:
  struct Spec {
    int64_t tenant = 0;
    int32_t priority = 0;
    int64_t length = 1;
    int32_t n = 1;
    bool due = false;
    bool paused = false;
  };

  Sequence* Add(const Spec& spec) {
    Request request{.prompt = std::vector<TokenId>(static_cast<size_t>(spec.length), 1)};
    request.stop.max_tokens = 1;
    request.n = spec.n;
    request.tenant = spec.tenant;
    request.priority = spec.priority;
    const auto sink = std::make_shared<CountingSink>(&asked_);
    sink->has_room = !spec.paused;
    states_.push_back(MakeState({.id = RequestId{states_.size()}, .request = request, .sink = sink},
                                {}, &pool_, 64));
    RequestState& state = *states_.back();
    state.tenant = tenants_.Enter(state.request);
    state.due = spec.due;
    if (spec.due) state.priority = std::numeric_limits<int32_t>::max();
    queue_.Insert(state.sequences[0].get());
    return state.sequences[0].get();
  }

  // As Pick says, by looking at all.
  std::vector<Sequence*> PickSlowly(const FreePlaces& places) const {
    const auto request = [](const Sequence* each) -> const RequestState& { return *each->request; };
    std::vector<Sequence*> all;
    for (Sequence* each : queue_.sequences()) {
      const bool displaces = request(each).request.priority > places.least_priority;
      const auto tenant = static_cast<size_t>(request(each).tenant->index);
      const int64_t own = tenant < places.own.size() ? places.own[tenant] : 0;
      const bool fits = PlacesOf(*each) <= std::max(places.count, own);
      const bool goes = fits || displaces || request(each).due;
      if (goes && !request(each).paused()) all.push_back(each);
    }
    std::sort(all.begin(), all.end(), [&](const Sequence* a, const Sequence* b) {
      const auto rank = [&](const Sequence* each) {
        return std::tuple(!request(each).due, -int64_t{request(each).priority}, each->length(),
                          request(each).id);
      };
      return rank(a) < rank(b);
    });
    std::map<int64_t, int64_t> rounds;
    std::map<const Sequence*, int64_t> round;
    for (const Sequence* each : all) round[each] = rounds[request(each).request.tenant]++;
    std::sort(all.begin(), all.end(), [&](const Sequence* a, const Sequence* b) {
      const auto key = [&](const Sequence* each) {
        return std::tuple(!request(each).due, round.at(each), request(each).tenant->view.used,
                          request(each).id);
      };
      return key(a) < key(b);
    });
    all.resize(std::min(all.size(), size_t{kMaxWaitingViews}));
    std::sort(all.begin(), all.end(),
              [](const Sequence* a, const Sequence* b) { return GoesBefore(*a, *b); });
    return all;
  }

  static std::string Names(const std::vector<Sequence*>& sequences) {
    std::string names;
    for (const Sequence* each : sequences) {
      names += std::to_string(static_cast<uint64_t>(each->request->id)) + " ";
    }
    return names;
  }

  int64_t asked_ = 0;
  kv::PagePool pool_{0};
  Tenants tenants_;
  std::vector<std::unique_ptr<RequestState>> states_;
  WaitingQueue queue_;
};

TEST_F(WaitingQueueTest, PicksWhatOnePicksWhoLooksAtAll) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    uint32_t drawn = 0;
    const auto draw = [&](int64_t below) {
      return static_cast<int64_t>(UniformDouble({.seed = seed}, drawn++) *
                                  static_cast<double>(below));
    };
    queue_ = {};
    std::vector<Sequence*> inside;
    const int64_t tenants = 1 + draw(5);
    for (int64_t i = draw(120); i > 0; --i) {
      inside.push_back(Add({.tenant = draw(tenants),
                            .priority = static_cast<int32_t>(draw(3)),
                            .length = 1 + draw(6),
                            .n = static_cast<int32_t>(1 + draw(4)),
                            .due = draw(20) == 0,
                            .paused = draw(6) == 0}));
      inside.back()->request->tenant->view.used = draw(3);
      if (draw(4) > 0) continue;
      const auto out = inside.begin() + draw(static_cast<int64_t>(inside.size()));
      queue_.Erase(*out);
      inside.erase(out);
    }
    EXPECT_EQ(queue_.size(), inside.size());
    std::vector<Sequence*> picked;
    for (int64_t count = 0; count < 5; ++count) {
      for (int32_t least = -1; least < 3; ++least) {
        FreePlaces places = {.count = count, .least_priority = least};
        for (int64_t i = 0; least < 1 && i < tenants; ++i) places.own.push_back(draw(6) - 1);
        queue_.Pick(places, &picked);
        ASSERT_EQ(Names(picked), Names(PickSlowly(places))) << seed << " " << count << " " << least;
      }
    }
  }
}

TEST_F(WaitingQueueTest, OfEachTenantTheOldestIsFound) {
  Add({.tenant = 1, .length = 9, .paused = true});
  Sequence* second = Add({.tenant = 1, .priority = -5, .length = 9});
  Add({.tenant = 1, .priority = 5});
  Sequence* other = Add({.tenant = 2});
  Add({.tenant = 3});
  std::vector<RequestState*> oldest;
  queue_.OldestBefore(RequestId{4}, &oldest);
  ASSERT_EQ(oldest.size(), 2u);
  EXPECT_EQ(oldest[0], second->request);
  EXPECT_EQ(oldest[1], other->request);
  queue_.Erase(second);
  oldest.clear();
  queue_.OldestBefore(RequestId{2}, &oldest);
  EXPECT_TRUE(oldest.empty());
}

// What was looked at: every one of ten thousand, in every step.
TEST_F(WaitingQueueTest, ManyThatWaitCostNothing) {
  for (int64_t i = 0; i < 10000; ++i) {
    Add({.tenant = i % 3,
         .priority = static_cast<int32_t>(i % 2),
         .length = 1 + i % 50,
         .n = static_cast<int32_t>(1 + i % 4)});
  }
  asked_ = 0;
  std::vector<Sequence*> picked;
  queue_.Pick({.count = 16, .least_priority = 0}, &picked);
  EXPECT_EQ(picked.size(), size_t{kMaxWaitingViews});
  EXPECT_LE(asked_, 3 * 4 * kMaxWaitingViews);
  asked_ = 0;
  queue_.Pick({.count = 0}, &picked);
  EXPECT_TRUE(picked.empty());
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace skald::engine
