// Arbitrary answers, read in every format. Oracles: the pieces, joined, are the same whole and cut
// at every byte; calls are numbered, have ids of their own and names of tools; without tools and
// reasoning the text is the answer; time and memory are in proportion.
//
// Input: a byte for the format (its lowest bit: control tokens), a byte of options, and the answer
// as a decoder gives it.
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/answer/answer_for_test.h"
#include "support/cost.h"

namespace skald::chat {
namespace {

constexpr double kSecondsBase = 0.5;
constexpr double kSecondsPerByte = 20e-6;  // with the sanitizers, on a busy machine
constexpr size_t kBytesBase = 1 << 20;
constexpr size_t kBytesPerByte = 200;  // a call of two bytes has an id and a name

// Both spellings of every row, made once.
std::vector<TestFormat> Formats() {
  std::vector<TestFormat> formats;
  for (const AnswerForm& form : AnswerForms()) {
    const std::string_view reasoning = form.name == "gemma4"        ? "<|channel>thought"
                                       : form.name == "mistral"     ? "[THINK]"
                                       : form.name == "command-r7b" ? "<|START_THINKING|>"
                                                                    : "<think>";
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl})
      formats.push_back(MakeFormat(form.name, reasoning, spelling));
  }
  return formats;
}

std::shared_ptr<const std::vector<ChatTool>> Tools() {
  using Kind = ChatTool::Kind;
  return std::make_shared<const std::vector<ChatTool>>(std::vector<ChatTool>{
      {.name = "f", .parameters = {{"a", Kind::kValue}, {"s", Kind::kString}}},
      {.name = "ff", .parameters = {{"o", Kind::kStringOrNull}}}});
}

void CheckCalls(const Message& message) {
  std::set<std::string> ids;
  for (const Message::Call& call : message.calls) {
    CHECK(call.name == "f" || call.name == "ff");
    CHECK(!call.id.empty() && ids.insert(call.id).second);
  }
}

void Check(const TestFormat& made, uint8_t flags, std::string_view answer) {
  const ChatAnswerOptions options = {.tools = (flags & 1) != 0 ? Tools() : nullptr,
                                     .split_reasoning = (flags & 2) != 0,
                                     .in_reasoning = (flags & 4) != 0,
                                     .one_call = (flags & 8) != 0};
  const AnswerEnd end = (flags & 16) != 0 ? AnswerEnd::kStop : AnswerEnd::kLength;
  Message whole;
  const test::Cost cost =
      test::CostOf([&] { whole = ReadAnswer(made.format, options, answer, {}, end); });
  CHECK(cost.cpu_seconds < kSecondsBase + kSecondsPerByte * static_cast<double>(answer.size()));
  CHECK(static_cast<size_t>(cost.peak_bytes) < kBytesBase + kBytesPerByte * answer.size());
  CheckCalls(whole);
  std::vector<size_t> cuts(answer.size());
  std::iota(cuts.begin(), cuts.end(), 0);
  CHECK(ReadAnswer(made.format, options, answer, cuts, end) == whole);
  // In a format whose text has neither head nor frame.
  const bool plain = made.format.name() == "hermes" || made.format.name() == "glm";
  const bool has_marks = answer.find(static_cast<char>(0xFF)) != std::string_view::npos;
  if (plain && !options.tools && !options.split_reasoning && !has_marks)
    CHECK(whole.text == answer);
}

}  // namespace
}  // namespace skald::chat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<skald::chat::TestFormat> formats = skald::chat::Formats();
  if (size < 2) return 0;
  skald::chat::Check(formats[data[0] % formats.size()], data[1],
                     {reinterpret_cast<const char*>(data) + 2, size - 2});
  return 0;
}
