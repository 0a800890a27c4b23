/// Proof: promise 1 made visible on one model. The same question is answered in every way that the
/// engine can take, and the bits of each way are compared with those of the first.
///
///     ProofQuestion question;
///     question.prompt = *model.tokenizer().Encode("Once upon a time");
///     question.max_tokens = 16;
///     question.load.path = model.info().path;
///     Result<Prover> prover = Prover::Create(model, question);
///     const std::vector<ProofCase> ways = ProofCases(model, question);
///     Result<ProofRow> first = prover->Run(ways.front());
///     Result<ProofRow> other = prover->Run(ways.back());
///     bool same_bits = first->logits_sha256 == other->logits_sha256;
///
/// What is compared is each row of logits that a token was drawn from, as the model gave it, and
/// the tokens: SHA-256 of both, and where they part, the first logit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Bound of ProofQuestion::max_tokens: the rows of the first way are kept, 1 MiB each where a
/// vocabulary has 2^18 tokens.
inline constexpr int64_t kMaxProofTokens = 256;

/// What every way has to answer.
struct ProofQuestion {
  std::vector<TokenId> prompt;
  SamplingParams sampling = {};
  int64_t max_tokens = 48;  ///< 1 to kMaxProofTokens; end tokens do not end it
  int threads = 0;          ///< where a way does not say how many: EngineOptions
  std::string isa = "best";
  KvCacheTypes kv_types = {};
  /// Loads the same model once more, as one that starts anew would.
  LoadOptions load = {};
};

/// What happens around the question.
enum class ProofSetting : uint8_t {
  kAlone,
  kCrowded,      ///< eight other requests compute in the same steps
  kPreempted,    ///< its pages go to another request in the middle of the answer
  kCached,       ///< it was asked before: its prompt is in the cache
  kSpeculative,  ///< the model itself and n-grams guess ahead
  kRestarted,    ///< the model is loaded again
};

/// One way to the answer.
struct ProofCase {
  std::string name;  ///< "avx2", "prompt in 7s"
  ProofSetting setting = ProofSetting::kAlone;
  EngineOptions engine = {};
  std::string not_run = {};  ///< why this machine or model cannot go it; empty: it can
};

/// All ways, the plainest first: the scalar specification, one thread, alone.
std::vector<ProofCase> ProofCases(const Model& model, const ProofQuestion& question);

/// A way that must not give the same bits, to see the proof fail: K and V of another type.
ProofCase PlantedFault(const ProofQuestion& question);

/// Where an answer parts from the first one.
struct ProofDifference {
  int64_t row = 0;  ///< of the answer: 0 gave its first token
  /// The first logit that differs in that row, and both values; kNoToken: all are the same, and
  /// the tokens that were drawn from them differ.
  TokenId token = kNoToken;
  float expected = 0;
  float found = 0;
  TokenId expected_token = kNoToken;  ///< drawn there; kNoToken: the answer has ended before
  TokenId found_token = kNoToken;
};

/// What came of one way.
struct ProofRow {
  std::string name;
  std::string note = {};  ///< "96 of 97 prompt tokens from the cache", or why it did not run
  bool ran = false;       ///< only then the rest means something
  std::string tokens_sha256 = {};  ///< of the tokens as little-endian int32
  std::string logits_sha256 = {};  ///< of the rows as little-endian float32
  double seconds = 0;              ///< from the question to the end of the answer
  std::optional<ProofDifference> difference = std::nullopt;  ///< from the first way
};

/// Goes one way after the other. One thread at a time.
class Prover {
 public:
  /// Errors: kInvalidArgument (no prompt, max_tokens out of range), kUnsupported: the model does
  /// not generate.
  static Result<Prover> Create(const Model& model, ProofQuestion question);
  ~Prover();
  Prover(Prover&&) noexcept;
  Prover& operator=(Prover&&) noexcept;

  /// Answers the question anew. The first way that ran is what later ones are compared with.
  /// Errors: as Engine::Create, Engine::Submit and LoadModel; what a request ended with.
  Result<ProofRow> Run(const ProofCase& way);

  /// Tokens of the answer, once a way ran.
  const std::vector<TokenId>& answer() const;

  /// What stands behind a Prover. Defined by the proof room.
  struct State;

 private:
  explicit Prover(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
