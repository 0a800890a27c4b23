#include "skald/receipt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "proof/receipt_seal.h"
#include "proof/row_recorder.h"

namespace skald {
namespace {

const std::string& TalesPath() {
  static const std::string path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf";
  return path;
}

// An answer of the bundled model, its receipt, and what it takes to make another one.
class ReceiptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = std::make_unique<Model>(*LoadModel({.path = TalesPath(), .threads = 1}));
    request_ = std::make_unique<Request>(
        Request{.prompt = *model_->tokenizer().Encode("The fox and the lantern"),
                .sampling = {.penalties = {.repetition = 1.1}, .seed = 18446744073709551615u},
                .stop = {.max_tokens = 9, .ignore_eos = true}});
    request_->sampling.logit_bias = {{.token = 30, .bias = 0.1f}};
    Engine engine = *Engine::Create(*model_, {.context = 64, .threads = 1});
    draws_ = std::make_unique<std::vector<TokenDraw>>();
    const auto done = engine.Generate(*request_, [](const TokenEvent& event) {
      if (event.token != kNoToken) draws_->push_back(event.draw);
      return true;
    });
    output_ = std::make_unique<std::vector<TokenId>>(done->tokens);
  }
  static void TearDownTestSuite() {
    model_.reset();
    request_.reset();
    draws_.reset();
    output_.reset();
  }

  static Receipt Make(bool hashes_only = false) {
    return *MakeReceipt(
        *model_,
        {.request = *request_, .output = *output_, .draws = *draws_, .hashes_only = hashes_only});
  }
  // What a cheat would do who knows the form.
  static Receipt Sealed(Receipt receipt) {
    receipt.seal = proof::SealOf(receipt);
    return receipt;
  }
  static Verdict Verify(const Receipt& receipt, const Model& model = *model_) {
    const Result<Verdict> verdict = VerifyReceipt(model, receipt, {.threads = 1});
    EXPECT_TRUE(verdict.ok()) << verdict.status().message();
    return *verdict;
  }

  static std::unique_ptr<Model> model_;
  static std::unique_ptr<Request> request_;
  static std::unique_ptr<std::vector<TokenDraw>> draws_;
  static std::unique_ptr<std::vector<TokenId>> output_;
};
std::unique_ptr<Model> ReceiptTest::model_;
std::unique_ptr<Request> ReceiptTest::request_;
std::unique_ptr<std::vector<TokenDraw>> ReceiptTest::draws_;
std::unique_ptr<std::vector<TokenId>> ReceiptTest::output_;

TEST_F(ReceiptTest, HoldsOnEveryInstructionSet) {
  const Receipt receipt = *ParseReceipt(ReceiptJson(Make()));
  for (const InstructionSet& isa : InstructionSets()) {
    if (!isa.supported) continue;
    const Result<Verdict> verdict =
        VerifyReceipt(*model_, receipt, {.threads = 1, .isa = std::string(isa.name)});
    ASSERT_TRUE(verdict.ok()) << verdict.status().message();
    EXPECT_TRUE(verdict->holds) << isa.name << ": " << verdict->message;
  }
}

TEST_F(ReceiptTest, IsReadAsItWasWritten) {
  Receipt receipt = Make();
  receipt.rope = {.stretch = RopeStretch::kYarn, .factor = 1.1, .trained_context = 77};
  receipt.endless = {.sinks = 3, .window = 70};
  receipt.kv_types = {KvCacheType::kQ8, KvCacheType::kQ4};
  receipt.conventions = Conventions::kLlamaCpp;
  receipt.sampling.order = SamplingOrder::kLlamaCpp;
  receipt.sampling.temperature = 1e-6;
  receipt.sampling.truncation.top_n_sigma = 1.5;
  receipt.sampling.truncation.xtc_probability = 0.25;
  receipt.sampling.truncation.xtc_threshold = 0.125;
  receipt.sampling.dry = {
      .multiplier = 0.7, .base = 1.5, .allowed_length = 3, .last_n = 99, .breakers = {4, 5}};
  receipt.sampling.dynamic_temperature = {.range = 0.3, .exponent = 2};
  receipt.sampling.mirostat = {.version = 2, .tau = 4, .eta = 0.2};
  receipt.sampling.logit_bias.push_back(
      {.token = 1, .bias = -std::numeric_limits<float>::infinity()});
  receipt.stop = {.ignore_eos = false, .stop_tokens = {5, 6}, .min_tokens = 3};
  const std::string text = ReceiptJson(Sealed(receipt));
  const Result<Receipt> read = ParseReceipt(text + "\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ReceiptJson(*read), text);
  EXPECT_EQ(proof::SealOf(*read), read->seal);
}

// Every byte, changed in three ways: a bit, the case of a letter, another figure.
TEST_F(ReceiptTest, EveryByteIsSealed) {
  const std::string text = ReceiptJson(Make());
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char change : {'\x01', '\x20', '\x07'}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const Result<Receipt> read = ParseReceipt(changed);
      if (!read.ok()) continue;
      EXPECT_NE(proof::SealOf(*read), read->seal) << i << ": " << changed.substr(i, 20);
    }
  }
}

TEST_F(ReceiptTest, ASealThatFitsHidesNoOtherParameter) {
  const auto part_of = [](auto change) {
    Receipt receipt = Make();
    change(receipt);
    const Verdict verdict = Verify(Sealed(receipt));
    EXPECT_FALSE(verdict.holds);
    return verdict.part;
  };
  EXPECT_EQ(part_of([](Receipt& r) { ++r.numerics; }), "numerics");
  EXPECT_EQ(part_of([](Receipt& r) { r.model_sha256[5] ^= 1; }), "model");
  EXPECT_EQ(part_of([](Receipt& r) { r.conventions = Conventions::kLlamaCpp; }), "settings");
  EXPECT_EQ(part_of([](Receipt& r) { r.rope.factor = 2; }), "settings");
  EXPECT_EQ(part_of([](Receipt& r) { r.endless.window = 9; }), "settings");
  EXPECT_EQ(part_of([](Receipt& r) { r.template_sha256 = r.seal; }), "template");
  EXPECT_EQ(part_of([](Receipt& r) { r.prompt.sha256 = r.seal; }), "tokens");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.temperature = -1; }), "parameters");
  EXPECT_EQ(part_of([](Receipt& r) { r.kv_types = KvCacheType::kF32; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { --r.sampling.seed; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.temperature = 0.81; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.truncation.top_k = 3; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.truncation.top_p = 0.4; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.truncation.min_p = 0.5; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.truncation.typical_p = 0.3; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.penalties.repetition = 1.2; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.dynamic_temperature.range = 0.5; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.mirostat.version = 2; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.truncation.top_n_sigma = 0.1; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) {
              r.sampling.truncation.xtc_probability = 1;
              r.sampling.truncation.xtc_threshold = 0.01;
            }),
            "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.penalties.presence = 0.5; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.penalties.frequency = 0.5; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sampling.logit_bias[0].bias = 20; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.sequence = 1; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.links[9] ^= 1; }), "answer");
  EXPECT_EQ(part_of([](Receipt& r) { r.chain[9] ^= 1; }), "answer");
}

TEST_F(ReceiptTest, NamesTheFirstTokenThatTheModelDidNotSay) {
  for (const size_t index : {0u, 4u, 8u}) {
    Receipt receipt = Make();
    receipt.output.tokens[index] ^= 1;
    receipt.output.sha256 = proof::HashOfTokens(receipt.output.tokens);
    const Verdict verdict = Verify(Sealed(receipt));
    EXPECT_EQ(verdict.part, "answer");
    EXPECT_EQ(verdict.token, static_cast<int64_t>(index)) << verdict.message;
    EXPECT_NE(verdict.message.find(", the model says " + std::to_string((*output_)[index])),
              std::string::npos)
        << verdict.message;
  }
  Receipt prompt = Make();
  prompt.prompt.tokens.back() ^= 1;
  prompt.prompt.sha256 = proof::HashOfTokens(prompt.prompt.tokens);
  EXPECT_EQ(Verify(Sealed(prompt)).token, 0);
}

TEST_F(ReceiptTest, GoesOnBehindNoEnd) {
  Receipt receipt = Make();
  receipt.stop = {.stop_tokens = {(*output_)[3]}};
  const Verdict verdict = Verify(Sealed(receipt));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.message, "token 3 of the output ends the text, the receipt goes on behind it");
}

// The file's hash finds it; and the weights do where somebody writes that hash anew.
TEST_F(ReceiptTest, FindsOneBitOfOneWeight) {
  std::ifstream file(TalesPath(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes[bytes.size() - 1000] ^= 1;
  const std::string path = testing::TempDir() + "/receipt_test_flipped.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  const Model flipped = *LoadModel({.path = path, .threads = 1});
  Receipt receipt = Make();
  EXPECT_EQ(Verify(receipt, flipped).part, "model");
  receipt.model_sha256 = *flipped.Sha256();
  EXPECT_EQ(Verify(Sealed(receipt), flipped).part, "answer");
  EXPECT_EQ(Verify(Sealed(receipt)).part, "model");
  std::remove(path.c_str());
}

TEST_F(ReceiptTest, WithHashesNeedsTheTokens) {
  const Receipt receipt = *ParseReceipt(ReceiptJson(Make(true)));
  EXPECT_TRUE(receipt.prompt.tokens.empty() && receipt.output.tokens.empty());
  EXPECT_EQ(Verify(receipt).part, "tokens");
  VerifyOptions options = {.threads = 1, .prompt = request_->prompt, .output = *output_};
  EXPECT_TRUE(VerifyReceipt(*model_, receipt, options)->holds);
  options.output.back() ^= 1;
  EXPECT_EQ(VerifyReceipt(*model_, receipt, options)->message,
            "the tokens of the output are not those that the receipt has a hash of");
}

TEST_F(ReceiptTest, IsBoundedByTheContext) {
  const Result<Verdict> verdict = VerifyReceipt(*model_, Make(), {.threads = 1, .context = 10});
  EXPECT_EQ(verdict->part, "tokens");
  EXPECT_NE(verdict->message.find("expected at most 10"), std::string::npos);
}

TEST_F(ReceiptTest, SaysWhatIsWrongWithItsForm) {
  const std::string text = ReceiptJson(Make());
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return ParseReceipt(changed).status().message();
  };
  EXPECT_EQ(error("\"numerics\":3", "\"numerics\":0").substr(0, 54),
            "receipt: 'numerics' is missing or not a whole number f");
  EXPECT_EQ(error("\"top_k\"", "\"top_q\""),
            "receipt: 'sampling.top_k' is missing or not a whole number from 0 to 2147483647");
  EXPECT_EQ(error("\"top_k\":40", "\"top_k\":40,\"top_k\":40"),
            "receipt: 'sampling.' has members that a receipt has not, or one twice");
  EXPECT_EQ(error("\"count\":", "\"count\":99999999999999999999"),
            "receipt: 'prompt.count' is missing or not a whole number from 1 to 2147483647");
  EXPECT_EQ(error("\"breakers\":[", "\"breakers\":[-1").substr(0, 45),
            "receipt: 'sampling.dry.breakers' has somethin");
  EXPECT_EQ(error("\"rope\":{}", "\"rope\":[]"), "receipt: model.rope. is missing or no object");
  EXPECT_EQ(error("[[30,", "[[30,1,"),
            "receipt: 'sampling.logit_bias' is not pairs of a token and a number or null");
  EXPECT_EQ(error("\"count\":9", "\"count\":8"),
            "receipt: 'prompt.tokens' has 9 tokens, expected none or the 8 that 'prompt.count' "
            "says");
  EXPECT_EQ(error("{", " {"), "receipt: expected one JSON object, from the first byte to the last");
  EXPECT_EQ(ParseReceipt(std::string(kMaxReceiptBytes + 1, '{')).status().message(),
            "receipt: it has 67108865 bytes, expected at most 67108864");
  std::string many = "\"stop_tokens\":[0";
  for (size_t i = 0; i < kMaxReceiptList; ++i) many += ",0";
  EXPECT_EQ(error("\"stop_tokens\":[", many),
            "receipt: 'stop.stop_tokens' has 262145 members, expected at most 262144");
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseReceipt(std::string_view(text).substr(0, length)).ok());
  }
}

TEST_F(ReceiptTest, RefusesByNameWhatItCannotCover) {
  Request request = *request_;
  EXPECT_TRUE(CheckReceipt(request, {.kind = Speculation::kNgram}).ok());
  EXPECT_EQ(
      CheckReceipt(request, {.kind = Speculation::kNgram, .rule = SpeculationRule::kRejection})
          .message(),
      "no receipt for speculation under the rule rejection: its tokens depend on what was "
      "guessed");
  request.beam_search.beams = 2;
  EXPECT_EQ(CheckReceipt(request, {}).message(),
            "no receipt for a beam search: it draws no tokens");
  request = *request_;
  request.pooling = Pooling::kLast;
  EXPECT_EQ(CheckReceipt(request, {}).message(), "no receipt for an embedding: it draws no tokens");
  request = *request_;
  request.stop.max_tokens = 0;
  EXPECT_EQ(CheckReceipt(request, {}).message(), "no receipt for an answer without tokens");
}

}  // namespace
}  // namespace skald
