// skald_decode_share MODEL [THREADS]: at which share of the memory's rate decode reads its weights,
// where that rate changes from moment to moment.
//
// A pass over memory, one token, another pass, kRounds times: each token is compared with the two
// passes beside it. (`skald bench` compares a median with the best of a few passes.)

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "kernels/peak/peak.h"
#include "skald/bench.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int kRounds = 150;
// Four times a last-level cache of 107 MB.
constexpr int64_t kPassBytes = int64_t{430} << 20;

// Reads a buffer, as MeasureCeilings does.
class Memory {
 public:
  Memory(AlignedBuffer buffer, int threads) : buffer_(std::move(buffer)), pool_(threads) {
    std::memset(buffer_.data(), 0x5a, kPassBytes);
  }
  // Bytes a second.
  double Pass() {
    const Stopwatch watch;
    kernels::ReadOnce(pool_, kernels_, {buffer_.data(), buffer_.size()});
    return static_cast<double>(kPassBytes) / watch.Seconds();
  }

 private:
  AlignedBuffer buffer_;
  ThreadPool pool_;
  kernels::PeakKernels kernels_ = kernels::PeakFor(kernels::DetectIsa());
};

// "10 % 18.8, median 20.7, 90 % 22.9"
std::string Quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  char text[80];
  std::snprintf(text, sizeof(text), "10 %% %.1f, median %.1f, 90 %% %.1f", at(0.1), at(0.5),
                at(0.9));
  return text;
}

int Run(const char* path, int threads) {
  const Result<Model> model = LoadModel({.path = path});
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(kPassBytes);
  if (!model.ok() || !buffer.ok()) {
    const Status& status = model.ok() ? buffer.status() : model.status();
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  Result<BenchSession> session =
      BenchSession::Create(*model, {.threads = threads}, {.batch = 1, .positions = 256});
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", session.status().message().c_str());
    return 1;
  }
  Memory memory(*std::move(buffer), threads);
  const BenchCase token = {.decode_tokens = 1};
  const double bytes = session->WorkOf(token).bytes;
  std::vector<double> passes;
  std::vector<double> decodes;
  std::vector<double> shares;
  for (int round = -1; round < kRounds; ++round) {
    const double before = memory.Pass();
    const Result<double> seconds = session->Measure(token, [] { return true; });
    const double after = memory.Pass();
    CHECK(seconds.ok());      // nothing interrupts it
    if (round < 0) continue;  // the first warms up
    passes.insert(passes.end(), {before / 1e9, after / 1e9});
    decodes.push_back(bytes / *seconds / 1e9);
    shares.push_back(100 * bytes / *seconds / ((before + after) / 2));
  }
  std::printf("passes, GB/s:  %s\n", Quantiles(passes).c_str());
  std::printf("decode, GB/s:  %s\n", Quantiles(decodes).c_str());
  std::printf("share, %%:      %s\n", Quantiles(shares).c_str());
  return 0;
}

}  // namespace
}  // namespace skald

int main(int count, char** values) {
  int threads = 0;
  const bool good =
      count == 2 ||
      (count == 3 &&
       std::from_chars(values[2], values[2] + std::strlen(values[2]), threads).ec == std::errc());
  if (!good) {
    std::fprintf(stderr, "usage: skald_decode_share MODEL [THREADS]\n");
    return 2;
  }
  return skald::Run(values[1], threads > 0 ? threads : skald::AvailableCores());
}
