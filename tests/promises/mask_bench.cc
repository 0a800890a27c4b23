// skald_mask_bench VOCABULARY.gguf SCHEMAS.jsonl [FORMAT | TOKENS]: what a schema costs to compile,
// a mask to make. With TOKENS (248000) pairs of tokens are added to the vocabulary until it has so
// many. With FORMAT ("qwen3-coder", "gemma4": docs/chat.md has the names) an answer is a row of
// calls of a tool in that format, which has the schema as one of two arguments; the other is a
// text. A marker that the vocabulary has as a control token is that one, else it is spelled.
//
// SCHEMAS has an object a line with the member "schema", or "regex", or "grammar" (GBNF; without
// FORMAT both). Each that is taken is walked at random: at
// each place the mask is made (with what the constraint has kept of masks before, as in an engine),
// timed, and a token of it chosen. Prints microseconds of processor time: p50, p99, largest; and
// which lines of SCHEMAS have most of the slowest hundredth of the masks.

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/cpu_clock.h"
#include "base/rng.h"
#include "chat/answer/forms.h"
#include "grammar/constraint_state.h"
#include "skald/chat_grammar.h"
#include "skald/chat_template.h"
#include "skald/constraint.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int kWalks = 3;
constexpr int kTokens = 200;  // of a walk, at most

struct MaskTime {
  double microseconds;
  uint64_t schema;
  uint64_t position;  // in its walk
};

struct Times {
  std::vector<double> compile;
  std::vector<double> create;
  std::vector<MaskTime> masks;
  std::vector<double> steps;  // behind a token
};

// Microseconds of this thread: what a busy machine gives to others does not count.
class Watch {
 public:
  double Microseconds() const { return (clock_.Now() - start_) * 1e6; }

 private:
  CpuClock clock_;
  double start_ = clock_.Now();
};

// A bit of the mask, each as likely.
TokenId AnyOf(const std::vector<uint64_t>& words, const RandomKey& key) {
  std::vector<TokenId> allowed;
  for (size_t word = 0; word < words.size(); ++word)
    for (uint64_t left = words[word]; left != 0; left &= left - 1)
      allowed.push_back(static_cast<TokenId>(64 * word) + __builtin_ctzll(left));
  if (allowed.empty()) return kNoToken;
  const double draw = UniformDouble(key, 0);
  return allowed[static_cast<size_t>(draw * static_cast<double>(allowed.size()))];
}

void Walk(const Constraint& constraint, uint64_t schema, uint64_t walk, Times* times) {
  grammar::ConstraintState state(constraint);
  std::vector<uint64_t> words(static_cast<size_t>(constraint.vocabulary().size() + 63) / 64);
  for (uint64_t position = 0; position < kTokens && !state.must_end(); ++position) {
    Watch watch;
    if (!state.FillMask(words).ok()) return;
    times->masks.push_back({watch.Microseconds(), schema, position});
    const TokenId token = AnyOf(words, {.seed = schema * kWalks + walk, .position = position});
    watch = Watch();
    if (token == kNoToken || !state.Advance(token).ok()) return;
    times->steps.push_back(watch.Microseconds());
  }
}

// Any template of the format will do: it is known by its markers.
ChatAnswerFormat FormatOf(std::string_view name, const Tokenizer& tokenizer) {
  std::string source;
  for (const chat::AnswerForm& form : chat::AnswerForms())
    if (form.name == name)
      for (const std::string_view needle : form.needles) source += std::string(needle) + "\n";
  const Result<ChatTemplate> chat = ChatTemplate::Create(source, {});
  CHECK(chat.ok());
  return ChatAnswerFormat::Of(*chat, tokenizer);
}

Result<Grammar> CallsOf(const std::string& schema, const ChatAnswerFormat& format) {
  const std::string arguments =
      R"({"properties":{"text":{"type":"string"},"value":)" + schema + R"(},"required":["value"]})";
  const ChatTool tool = {
      .name = "f",
      .parameters = {{"text", ChatTool::Kind::kString}, {"value", ChatTool::Kind::kAny}}};
  CompileBudget budget;
  Result<Grammar> held = MakeCallArguments(format, tool, arguments, SchemaMode::kStrict, &budget);
  if (!held.ok()) return held.status();
  const ChatGrammarOptions options = {.tools = {{.name = "f", .arguments = *std::move(held)}},
                                      .must_call = true};
  return MakeChatGrammar(format, options, &budget);
}

struct Held {
  Vocabulary vocabulary;
  std::optional<ChatAnswerFormat> format;  // none: answers are the schema's texts
};

Result<Grammar> GrammarOf(const boost::json::object& line, const Held& held) {
  if (const auto* regex = line.if_contains("regex"))
    return Grammar::FromRegex(std::string_view(regex->as_string()));
  if (const auto* gbnf = line.if_contains("grammar"))
    return Grammar::FromGbnf(std::string_view(gbnf->as_string()));
  const std::string schema = boost::json::serialize(line.at("schema"));
  return held.format ? CallsOf(schema, *held.format) : Grammar::FromJsonSchema(schema);
}

void Measure(const boost::json::object& line, const Held& held, uint64_t number, Times* times) {
  Watch watch;
  const Result<Grammar> grammar = GrammarOf(line, held);
  if (!grammar.ok()) return;
  times->compile.push_back(watch.Microseconds());
  watch = Watch();
  const Result<Constraint> constraint = Constraint::Create(*grammar, held.vocabulary);
  if (!constraint.ok()) return;
  times->create.push_back(watch.Microseconds());
  for (uint64_t walk = 0; walk < kWalks; ++walk) Walk(*constraint, number, walk, times);
}

void Print(const char* what, std::vector<double> times) {
  CHECK(!times.empty());
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-8s %7zu  p50 %9.1f  p99 %9.1f  max %9.1f us\n", what, times.size(), at(0.5),
              at(0.99), times.back());
}

void PrintSlowest(std::vector<MaskTime> masks) {
  constexpr size_t kShown = 12;
  std::sort(masks.begin(), masks.end(),
            [](const MaskTime& a, const MaskTime& b) { return a.microseconds > b.microseconds; });
  masks.resize(masks.size() / 100);
  struct Tail {
    size_t count = 0;
    MaskTime largest = {};
  };
  std::map<uint64_t, Tail> by_schema;
  for (const MaskTime& mask : masks) {
    Tail& tail = by_schema[mask.schema];
    if (tail.count++ == 0) tail.largest = mask;
  }
  std::vector<Tail> tails;
  for (const auto& [schema, tail] : by_schema) tails.push_back(tail);
  std::sort(tails.begin(), tails.end(),
            [](const Tail& a, const Tail& b) { return a.count > b.count; });
  tails.resize(std::min(tails.size(), kShown));
  for (const Tail& tail : tails)
    std::printf("line %5llu: %4zu of the slowest %zu, up to %9.1f us at token %llu\n",
                static_cast<unsigned long long>(tail.largest.schema + 1), tail.count, masks.size(),
                tail.largest.microseconds, static_cast<unsigned long long>(tail.largest.position));
}

// The tokens of `tokenizer`, and pairs of them until there are `count`: as in large vocabularies,
// words with something in front.
Vocabulary Filled(const Tokenizer& tokenizer, size_t count) {
  const Vocabulary vocabulary = Vocabulary::FromTokenizer(tokenizer);
  std::vector<std::string> tokens;
  for (TokenId id = 0; id < vocabulary.size(); ++id)
    tokens.emplace_back(vocabulary.table().BytesOf(id));
  const size_t known = tokens.size();
  for (size_t i = 0; tokens.size() < count; ++i)
    tokens.push_back(tokens[i % known] + tokens[(7 * i + i / known + 1) % known]);
  return Vocabulary::FromBytes(std::vector<std::string_view>(tokens.begin(), tokens.end()));
}

int Main(const std::string& model, const std::string& schemas, const char* option) {
  const Result<Tokenizer> tokenizer = LoadTokenizer(model);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.status().message().c_str());
    return 1;
  }
  size_t count = 0;
  if (option != nullptr) std::from_chars(option, option + std::strlen(option), count);
  const char* format = count == 0 ? option : nullptr;
  Held held = {.vocabulary = Filled(*tokenizer, count), .format = {}};
  if (format != nullptr) held.format = FormatOf(format, *tokenizer);
  if (format != nullptr && held.format->name() != format) {
    std::fprintf(stderr, "%s is no format of calls\n", format);
    return 2;
  }
  std::printf("%lld tokens\n", static_cast<long long>(held.vocabulary.size()));
  Times times;
  std::ifstream file(schemas);
  uint64_t number = 0;
  for (std::string line; std::getline(file, line); ++number) {
    Measure(boost::json::parse(line).as_object(), held, number, &times);
  }
  Print("compile", std::move(times.compile));
  Print("create", std::move(times.create));
  std::vector<double> masks;
  for (const MaskTime& mask : times.masks) masks.push_back(mask.microseconds);
  Print("masks", std::move(masks));
  Print("tokens", std::move(times.steps));
  PrintSlowest(std::move(times.masks));
  return 0;
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) {
  if (argc == 3 || argc == 4) return skald::Main(argv[1], argv[2], argv[3]);
  std::fprintf(stderr, "usage: skald_mask_bench VOCABULARY.gguf SCHEMAS.jsonl [FORMAT | TOKENS]\n");
  return 2;
}
