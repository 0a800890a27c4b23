#include "skald/lab.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/options.h"
#include "lab/experiment.h"

namespace skald {
namespace {

using lab::Bench;

constexpr std::array kExperiments = {
    LabExperiment{
        .name = "key",
        .title = "one key is random",
        .see =
            "The text goes on fluently at first and drifts: the first KL is small, because one key "
            "of many takes a little of the attention.",
        .bug = "A page that was freed too early or is written by two: nothing crashes, and no test "
               "that looks at a few tokens finds it."},
    LabExperiment{
        .name = "write-index",
        .title = "K and V are written one place too far",
        .see =
            "Eerily close at first, because all contents are right, and only a place is empty that "
            "takes its share of the attention.",
        .bug = "An index that counts from 1, or a length that already counts the token that is to "
               "come."},
    LabExperiment{
        .name = "forget-cache",
        .title = "each step has forgotten the steps before",
        .see = "At once nonsense: each token is answered as if it were the first and only one.",
        .bug = "The cache was made and not handed to the next call."},
    LabExperiment{
        .name = "rope-position",
        .title = "positions count from 0 again",
        .see = "All keys are there and none is where it should be: what is near seems far.",
        .bug = "Positions counted in two places: behind a cached prefix one of them begins anew."},
    LabExperiment{
        .name = "future",
        .title = "a prompt sees its own future",
        .see = "The rows of the prompt see what they are to foretell, and what decode steps see "
               "afterwards was made by such rows.",
        .bug =
            "A causal mask that is missing in prefill only: prompt and decode give other answers "
            "to the same text."},
    LabExperiment{
        .name = "shared-cache",
        .title = "two requests write the same pages",
        .see = "The answer mixes in what somebody else was told.",
        .bug =
            "A page that two requests share and that is not read-only: one user reads of another."},
    LabExperiment{
        .name = "stale-state",
        .title = "a state of some tokens ago",
        .see = "The text goes on as if some tokens had never been said, though all keys are there.",
        .bug = "A snapshot of another place: recurrent layers cannot be cut back like pages, and a "
               "cache that thinks so restores the wrong one."},
    LabExperiment{
        .name = "cache",
        .title = "no cache against a cache",
        .see =
            "Work grows with the square of the text in place of its length, and not a bit of the "
            "answer differs.",
        .bug = "A prefix that is not found again: the answer is right, and each turn of a chat "
               "waits for the whole of it."},
    LabExperiment{
        .name = "contiguous",
        .title = "paged against contiguous",
        .see = "Pages in any order give the same bits; two wrong entries of a table are enough to "
               "lose the thread.",
        .bug =
            "What pages are for: short texts take no memory of long ones. What they risk: a table "
            "that names the page of somebody else."},
    LabExperiment{
        .name = "page-size",
        .title = "page size against waste",
        .see =
            "A text wastes half a page at its end; small pages make long tables, one piece for the "
            "longest text wastes half of everything.",
        .bug = "A design decision: memory that is reserved and not used is requests that do not "
               "run."},
    LabExperiment{
        .name = "kv-precision",
        .title = "K and V in fewer bits",
        .see = "Each halving of the bits costs more than the one before it, and none costs as much "
               "as a fault.",
        .bug = "What --kv-type decides: memory against accuracy."},
    LabExperiment{
        .name = "context",
        .title = "context past the trained length",
        .see =
            "Behind the trained length the loss climbs; with stretched rotations it stays low, and "
            "what it costs is seen before that length. An endless text costs nothing there: it "
            "forgets instead.",
        .bug =
            "A context that was set larger than the model knows: no error, and worse answers the "
            "longer a chat is."},
    LabExperiment{
        .name = "speculation",
        .title = "draft length against speed",
        .see =
            "A pass brings more tokens the further it guesses, up to where guesses are wrong; each "
            "wrong one is a row computed for nothing.",
        .bug = "What --spec decides: passes against rows."},
    LabExperiment{
        .name = "sampling",
        .title = "filters against diversity",
        .see = "Without a filter a hot temperature draws what the model itself does not believe; "
               "filters keep that out and let the answers differ.",
        .bug = "What --top-k, --top-p and --min-p decide, and why a temperature alone is a poor "
               "knob."},
    LabExperiment{
        .name = "batch",
        .title = "batch against throughput",
        .see =
            "Requests that share a step share the reading of the weights, until arithmetic is the "
            "bound.",
        .bug = "Why a server runs requests together, and the leak that it must not have: an answer "
               "that depends on who else asks."},
};

// What each of them runs, in the same order.
struct NamedRun {
  std::string_view name;
  lab::RunExperiment run;
};
constexpr std::array kRuns = {
    NamedRun{"key", lab::RunWrongKey},
    NamedRun{"write-index", lab::RunWriteIndex},
    NamedRun{"forget-cache", lab::RunForgetCache},
    NamedRun{"rope-position", lab::RunRopePosition},
    NamedRun{"future", lab::RunFuture},
    NamedRun{"shared-cache", lab::RunSharedCache},
    NamedRun{"stale-state", lab::RunStaleState},
    NamedRun{"cache", lab::RunWithoutCache},
    NamedRun{"contiguous", lab::RunContiguous},
    NamedRun{"page-size", lab::RunPageSize},
    NamedRun{"kv-precision", lab::RunKvPrecision},
    NamedRun{"context", lab::RunLongContext},
    NamedRun{"speculation", lab::RunSpeculation},
    NamedRun{"sampling", lab::RunSampling},
    NamedRun{"batch", lab::RunBatch},
};
static_assert(std::ranges::equal(kExperiments, kRuns, {}, &LabExperiment::name, &NamedRun::name));

Result<size_t> IndexOf(std::string_view name) {
  std::string names;
  for (size_t i = 0; i < kExperiments.size(); ++i) {
    if (kExperiments[i].name == name) return i;
    names += (names.empty() ? "" : ", ") + std::string(kExperiments[i].name);
  }
  return Status(ErrorCode::kInvalidArgument,
                "there is no experiment '" + std::string(name) + "', expected one of: " + names);
}

Status Check(const Model& model, const LabQuestion& question) {
  const auto invalid = [](std::string message) {
    return Status(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (!model.info().generates) {
    return Status(ErrorCode::kUnsupported, "the model embeds or ranks texts and continues none");
  }
  // A prompt of one token has no place for a fault behind which something could go on.
  if (question.prompt.size() < 2) {
    return invalid("the prompt has " + std::to_string(question.prompt.size()) +
                   " tokens, expected 2 at least");
  }
  for (const TokenId token : question.prompt) {
    if (token >= 0 && token < model.info().vocab_size) continue;
    return invalid("token " + std::to_string(token) + " is not in the vocabulary");
  }
  const int64_t most = std::min(kMaxLabTokens, model.info().context_length - 1);
  const int64_t total = std::ssize(question.prompt) + question.max_tokens;
  if (question.max_tokens < 1 || total > most) {
    return invalid("prompt and answer have " + std::to_string(std::ssize(question.prompt)) +
                   " and " + std::to_string(question.max_tokens) +
                   " tokens, expected an answer of 1 at least and at most " + std::to_string(most) +
                   " together");
  }
  return Ok();
}

}  // namespace

std::span<const LabExperiment> LabExperiments() { return kExperiments; }

Result<LabExperiment> FindLabExperiment(std::string_view name) {
  ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
  return kExperiments[index];
}

Result<LabResult> RunLab(const Model& model, std::string_view name, const LabQuestion& question,
                         const std::function<bool()>& go_on) {
  const FloatMode mode;
  ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
  RETURN_IF_ERROR(Check(model, question));
  const kernels::KvTypes types = engine::KvTypesOf(question.kv_types);
  RETURN_IF_ERROR(engine::CheckKvTypes(model.transformer().network(), types));
  ASSIGN_OR_RETURN(const engine::Hardware hardware,
                   engine::ResolveHardware(question.threads, question.isa));
  const Bench bench = {.experiment = kExperiments[index],
                       .model = model,
                       .question = question,
                       .machine = {.kernels = kernels::TableFor(hardware.isa),
                                   .threads = std::make_shared<ThreadPool>(hardware.threads),
                                   .kv_types = types},
                       .go_on = go_on};
  return kRuns[index].run(bench);
}

namespace lab {

Status Bench::GoOn() const { return go_on() ? Ok() : Status(ErrorCode::kCancelled, "interrupted"); }

LabResult Bench::Begin() const {
  return {.experiment = std::string(experiment.name),
          .model = model.info().name,
          .prompt_tokens = std::ssize(question.prompt)};
}

LabToken Bench::Token(TokenId id) const {
  return {.id = id, .text = std::string(model.tokenizer().TokenBytes(id))};
}

Status Bench::NotHere(std::string_view why) const {
  return Status(ErrorCode::kUnsupported, std::string(experiment.name) + " says nothing of " +
                                             model.info().name + ": " + std::string(why));
}

Status Bench::NeedKeys() const {
  const kv::KvLayout layout = model::KvLayoutOf(network(), {});
  const bool keeps_any = std::any_of(layout.layers.begin(), layout.layers.end(),
                                     [](const kv::KvShape& layer) { return !layer.IsNone(); });
  return keeps_any ? Ok() : NotHere("it keeps no K and V, only states");
}

}  // namespace lab
}  // namespace skald
