/// FakeMasks: a MaskMaker on the virtual clock. A mask comes some ticks after it was asked for, and
/// not in the order of asking.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/mask_maker.h"
#include "sim/fault.h"
#include "sim/seeded.h"

namespace skald::sim {

class FakeMasks : public engine::MaskMaker {
 public:
  FakeMasks(uint64_t seed, Fault fault) : draw_(seed ^ 0x3a5c), fault_(fault) {}

  void Begin(std::shared_ptr<engine::MaskJob> job) override { jobs_.push_back(std::move(job)); }

  /// Before each step: some masks come.
  void Tick();
  /// Whether somebody waits.
  bool busy() const { return !jobs_.empty(); }

 private:
  void Make(engine::MaskJob* job);

  Seeded draw_;
  Fault fault_;
  std::vector<std::shared_ptr<engine::MaskJob>> jobs_;
};

}  // namespace skald::sim
