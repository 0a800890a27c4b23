/// Lab: experiments that break an engine on purpose, to see what each of its parts is for.
///
///     LabQuestion question;
///     question.prompt = *model.tokenizer().Encode("Once upon a time");
///     question.max_tokens = 16;
///     const auto go_on = [] { return true; };
///     Result<LabResult> result = RunLab(model, "forget-cache", question, go_on);
///     std::cout << result->changed << '\n' << result->finding << '\n' << result->clean << '\n';
///
/// A fault is a lie about one thing: which positions the rows of a step have, which pages are
/// theirs, what stands in them. The forward pass is that of the engine and believes it; no code of
/// it knows of the lab (docs/decisions/0050). Each experiment goes the same steps once more without
/// the lie, which must give the bits of the text computed at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/engine.h"
#include "skald/figure.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Bound of prompt and answer together: the logits of each row are kept, 1 MiB a row where a
/// vocabulary has 2^18 tokens.
inline constexpr int64_t kMaxLabTokens = 512;

/// An experiment, as people read of it.
struct LabExperiment {
  std::string_view name;   ///< "rope-position"
  std::string_view title;  ///< what is done, in a few words
  std::string_view see;    ///< what is to be seen, a sentence
  std::string_view bug;    ///< which bug of real engines it is, or what it decides: a sentence
};
/// All of them, in the order in which they are best done.
std::span<const LabExperiment> LabExperiments();
/// The one of this name. Errors: kInvalidArgument with the names there are.
Result<LabExperiment> FindLabExperiment(std::string_view name);

/// What is done with.
struct LabQuestion {
  std::vector<TokenId> prompt;
  int64_t max_tokens = 64;  ///< of the greedy answer; end tokens do not end it
  /// Where the fault is; nothing: the experiment's own choice. At 1 at least, and one before the
  /// last position at most.
  std::optional<int64_t> position = std::nullopt;
  int threads = 0;           ///< as EngineOptions
  std::string isa = "best";  ///< the same
  KvCacheTypes kv_types = {};
};

/// A token of a text.
struct LabToken {
  TokenId id = kNoToken;
  std::string text = {};  ///< its bytes: not always whole characters
};

/// What came of an experiment.
struct LabResult {
  std::string experiment = {};  ///< its name
  std::string model = {};
  std::string changed = {};  ///< what was done, a sentence
  std::string finding = {};  ///< what came of it, a sentence with numbers
  /// The same without the fault, a sentence; `is_clean`: it shows nothing. Where it is not clean,
  /// the engine itself is broken.
  std::string clean = {};
  bool is_clean = false;
  int64_t prompt_tokens = 0;
  std::optional<int64_t> position = {};    ///< of the fault
  std::vector<LabToken> text = {};         ///< prompt and answer as they should be
  std::vector<LabToken> broken_text = {};  ///< with the fault: the same prompt, its own answer
  std::optional<int64_t> parts_at = {};    ///< first index at which the two differ
  /// Numbers by position, or by whatever was varied. Losses and KL are in nats.
  std::vector<FigurePanel> panels = {};
};

/// Does the experiment of this name. `go_on` is asked once a step; false ends it. Errors: as
/// FindLabExperiment; kInvalidArgument (prompt or answer too short or too long, a position that
/// cannot be); kUnsupported: the model has nothing that could be broken this way, and why;
/// kCancelled; as Engine::Create. Cost: four passes over prompt and answer.
Result<LabResult> RunLab(const Model& model, std::string_view name, const LabQuestion& question,
                         const std::function<bool()>& go_on);

/// All of it as one JSON object.
std::string LabJson(const LabResult& result);

/// All of it as a drawing: what was changed, both texts as strips of tokens, and the panels.
/// `command`: what made it; it stands below.
std::string LabSvg(const LabResult& result, const std::string& command);

}  // namespace skald
