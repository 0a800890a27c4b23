/// VirtualClock and TimedNetwork: a clock that moves only when told, and a network whose passes
/// move it. The times that the engine measures are those of the test, whatever the machine does.
#pragma once

#include <span>

#include "engine/clock.h"
#include "engine/network.h"

namespace skald::support {

class VirtualClock : public engine::Clock {
 public:
  double Seconds() const override { return seconds_; }
  void Advance(double seconds) { seconds_ += seconds; }

 private:
  double seconds_ = 0;
};

/// What a pass takes: like a real one, something for itself and something for each row.
struct PassSeconds {
  double step = 1e-3;
  double row = 1e-4;
};

/// Another network, on a clock.
class TimedNetwork : public engine::Network {
 public:
  /// Both must outlive it.
  TimedNetwork(engine::Network* network, VirtualClock* clock, PassSeconds pass = {})
      : network_(*network), clock_(*clock), pass_(pass) {}

  void CopyPage(const kv::PageCopy& copy) override { network_.CopyPage(copy); }
  int64_t PageBytes(kv::PageGroup group) const override { return network_.PageBytes(group); }
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override {
    network_.SavePage(parts, bytes);
  }
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override {
    network_.LoadPage(parts, bytes);
  }
  int64_t StateBytes() const override { return network_.StateBytes(); }
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override {
    network_.SaveState(state, begin, bytes);
  }
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override {
    network_.LoadState(state, begin, bytes);
  }
  void CopyState(const kv::StateCopy& copy) override { network_.CopyState(copy); }
  void Forward(const model::StepBatch& batch) override {
    network_.Forward(batch);
    clock_.Advance(pass_.step + pass_.row * static_cast<double>(batch.row_count()));
  }
  std::span<const float> Logits(int64_t index) const override { return network_.Logits(index); }
  std::span<const float> Hidden(int64_t index) const override { return network_.Hidden(index); }
  void TurnToLogits(int64_t first, int64_t count) override { network_.TurnToLogits(first, count); }
  float Score(std::span<const float> state) override { return network_.Score(state); }

 private:
  engine::Network& network_;
  VirtualClock& clock_;
  const PassSeconds pass_;
};

}  // namespace skald::support
