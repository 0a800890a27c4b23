/// Experiment: what each experiment of the lab gets and gives.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/reading.h"
#include "skald/lab.h"

namespace skald::lab {

/// What an experiment works with.
struct Bench {
  const LabExperiment& experiment;
  const Model& model;
  const LabQuestion& question;
  Machine machine;
  const std::function<bool()>& go_on;

  const model::Network& network() const { return model.transformer().network(); }
  /// Asks go_on. Errors: kCancelled.
  Status GoOn() const;
  /// With what every experiment says.
  LabResult Begin() const;
  LabToken Token(TokenId id) const;
  /// "model tales: " and why it has nothing that could be broken this way.
  Status NotHere(std::string_view why) const;
  /// NotHere, if the network keeps no K and V.
  Status NeedKeys() const;
};

using RunExperiment = Result<LabResult> (*)(const Bench& bench);

/// Of faults: one text, read as it is and with one lie (faults.cc).
Result<LabResult> RunWrongKey(const Bench& bench);
Result<LabResult> RunWriteIndex(const Bench& bench);
Result<LabResult> RunForgetCache(const Bench& bench);
Result<LabResult> RunRopePosition(const Bench& bench);
Result<LabResult> RunFuture(const Bench& bench);
Result<LabResult> RunSharedCache(const Bench& bench);
Result<LabResult> RunStaleState(const Bench& bench);
Result<LabResult> RunContiguous(const Bench& bench);

/// Of what an engine decides: each varies one thing, in a file of its name (RunLongContext in
/// long_context.cc).
Result<LabResult> RunWithoutCache(const Bench& bench);
Result<LabResult> RunKvPrecision(const Bench& bench);
Result<LabResult> RunPageSize(const Bench& bench);
Result<LabResult> RunLongContext(const Bench& bench);
Result<LabResult> RunSpeculation(const Bench& bench);
Result<LabResult> RunSampling(const Bench& bench);
Result<LabResult> RunBatch(const Bench& bench);

/// How many requests fit in the memory of some contexts, by the length of their texts: in pages,
/// and each in one piece for the longest text there may be (page_size.cc).
FigurePanel RequestsThatFit(const Bench& bench);

}  // namespace skald::lab
