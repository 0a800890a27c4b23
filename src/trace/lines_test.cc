#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "skald/trace.h"
#include "trace/shapes.h"

namespace skald {
namespace {

TraceEvent Of(TraceBody body) {
  return {.seconds = 1.5, .request = 7, .sequence = 2, .body = std::move(body)};
}

TraceRecord Parsed(std::string_view line) {
  Result<std::optional<TraceRecord>> record = ParseTraceLine(line);
  EXPECT_TRUE(record.ok()) << line << ": " << record.status().message();
  return record.ok() && *record ? **record : TraceRecord();
}

std::string ErrorOf(std::string_view line) {
  const auto record = ParseTraceLine(line);
  return record.ok() ? "" : record.status().message();
}

TEST(TraceLine, IsAnObjectWithTheFieldsOfItsEvent) {
  const std::vector<std::string> texts = {" fox\n"};
  EXPECT_EQ(TraceLine(Of(TraceToken{.token = 42,
                                    .index = 3,
                                    .guessed = true,
                                    .p_drawn = 0.25,
                                    .draw = 0.5,
                                    .candidates = 9}),
                      texts),
            R"({"event":"token","time":1.5,"request":7,"sequence":2,"token":42,"index":3,)"
            R"("guessed":true,"p_model":null,"p_drawn":0.25,"draw":0.5,"candidates":9,)"
            R"("left_top_n_sigma":0,"left_top_k":0,"left_typical":0,"left_top_p":0,"left_min_p":0,)"
            R"("texts":[" fox\n"]})");
  EXPECT_EQ(TraceLine({.seconds = 2, .body = TraceComputed{}}, {}),
            R"({"event":"computed","time":2})");
  EXPECT_EQ(
      TraceLine(
          Of(TracePages{
              .act = PageAct::kCopied, .count = 2, .first = 1, .ids = {.ids = {5, 9}, .count = 2}}),
          {}),
      R"({"event":"pages","time":1.5,"request":7,"sequence":2,"act":"copied","count":2,)"
      R"("first":1,"ids":[5,9]})");
}

// Of each kind of event a line, and of the line the same line again.
template <size_t kIndex = 0>
void ExpectThatAllComeBack() {
  if constexpr (kIndex < std::variant_size_v<TraceBody>) {
    TraceEvent event = Of(TraceBody(std::in_place_index<kIndex>));
    const std::vector<std::string> texts = {"a", ""};
    const std::string line = TraceLine(event, texts);
    const TraceRecord record = Parsed(line);
    EXPECT_EQ(record.event.body.index(), kIndex);
    EXPECT_EQ(record.texts, texts);
    EXPECT_EQ(TraceLine(record.event, record.texts), line);
    ExpectThatAllComeBack<kIndex + 1>();
  }
}

TEST(TraceLine, ComesBackForEveryEvent) { ExpectThatAllComeBack(); }

TEST(TraceLine, KeepsLargeAndUnknownNumbers) {
  const TraceEvent event = Of(TraceQueued{
      .prompt_tokens = int64_t{1} << 60, .priority = -5, .seed = ~uint64_t{0}, .temperature = 0.1});
  const auto back = std::get<TraceQueued>(Parsed(TraceLine(event, {})).event.body);
  EXPECT_EQ(back.prompt_tokens, int64_t{1} << 60);
  EXPECT_EQ(back.priority, -5);
  EXPECT_EQ(back.seed, ~uint64_t{0});
  EXPECT_EQ(back.temperature, 0.1);
  const auto token = std::get<TraceToken>(Parsed(TraceLine(Of(TraceToken{}), {})).event.body);
  EXPECT_TRUE(std::isnan(token.p_model));
}

TEST(TraceLine, OfALaterVersionAreTakenAsFarAsTheyAreKnown) {
  const auto unknown = ParseTraceLine(R"({"event":"sneezed","time":1,"loud":true})");
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->has_value());
  const TraceRecord record = Parsed(R"({"event":"lost","time":1,"count":3,"why":"late"})");
  EXPECT_EQ(std::get<TraceLost>(record.event.body).count, 3);
}

TEST(TraceLine, OfBadFilesAreRefusedWithTheField) {
  EXPECT_NE(ErrorOf("{").find("no JSON"), std::string::npos);
  EXPECT_EQ(ErrorOf("[]"), "no JSON object");
  EXPECT_EQ(ErrorOf("{}"), "no line of a record: no field 'event'");
  EXPECT_EQ(ErrorOf(R"({"event":"lost","count":3})"), "lost: no field 'time'");
  EXPECT_EQ(ErrorOf(R"({"event":"lost","time":1})"), "lost: no field 'count'");
  const std::string wrong = "lost: the field 'count' has no such value, see docs/trace.md";
  EXPECT_EQ(ErrorOf(R"({"event":"lost","time":1,"count":"3"})"), wrong);
  EXPECT_EQ(ErrorOf(R"({"event":"lost","time":1,"count":9223372036854775808})"), wrong);
  EXPECT_EQ(ErrorOf(R"({"event":"lost","time":1e300,"count":3})"),
            "lost: the field 'time' is no number of seconds");
  EXPECT_EQ(ErrorOf(R"({"event":"waits","time":1,"reason":"whim"})"),
            "waits: the field 'reason' has no such value, see docs/trace.md");
  EXPECT_EQ(
      ErrorOf(R"({"event":"ended","time":1,"request":1,"sequence":4294967296,"reason":"stop"})"),
      "ended: the field 'sequence' has no such value, see docs/trace.md");
  EXPECT_NE(ErrorOf(R"({"event":"prompt","time":1,"first":0,)"
                    R"("tokens":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]})"),
            "");
  EXPECT_NE(ErrorOf(R"({"event":"lost","time":1,"count":3,"texts":[1]})"), "");
}

TEST(TraceHeader, ComesBack) {
  const TraceHeader header = {.program = "skald 1", .cpu = "a \"CPU\"", .context = 4096};
  const Result<TraceHeader> back = ParseTraceHeader(TraceHeaderLine(header));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(TraceHeaderLine(*back), TraceHeaderLine(header));
}

TEST(TraceHeader, OfAnotherVersionIsRefused) {
  const auto error = [](std::string_view line) {
    return ParseTraceHeader(line).status().message();
  };
  EXPECT_EQ(error(R"({"event":"trace","version":2})"), "version 2 of the record, expected 1");
  EXPECT_EQ(error(R"({"event":"lost","time":1,"count":3})"),
            "a record begins with a line whose event is 'trace', found 'lost'");
  EXPECT_EQ(error(R"({"event":"trace","version":1})"), "trace: no field 'program'");
}

TEST(TraceName, IsCut) {
  EXPECT_EQ(TraceName("matmul").view(), "matmul");
  EXPECT_EQ(TraceName(std::string(40, 'x')).view(), std::string(32, 'x'));
}

// Every event, field and word stands in the document.
class Document {
 public:
  Document() {
    std::ifstream file(SKALD_SOURCE_DIR "/docs/trace.md");
    text_.assign(std::istreambuf_iterator<char>(file), {});
  }
  // Of the section of an event, which ends where the next begins.
  std::string Section(std::string_view event) const {
    const size_t begin = text_.find("### `" + std::string(event) + "`\n");
    if (begin == std::string::npos) return "";
    return text_.substr(begin, text_.find("\n### ", begin) - begin);
  }

 private:
  std::string text_;
};

template <typename Value>
void ExpectWords(const std::string& section, const Value&) {
  if constexpr (std::is_enum_v<Value>) {
    for (const std::string_view word : trace::Words<Value>::kWords) {
      EXPECT_NE(section.find("`" + std::string(word) + "`"), std::string::npos) << word << section;
    }
  }
}

template <typename Body>
void ExpectDocumented(const Document& document) {
  const std::string section = document.Section(trace::Shape<Body>::kName);
  EXPECT_NE(section, "") << trace::Shape<Body>::kName;
  const auto expect = [&](const auto& field) {
    EXPECT_NE(section.find("| `" + std::string(field.name) + "` |"), std::string::npos)
        << field.name << " in" << section;
    ExpectWords(section, Body().*field.member);
  };
  std::apply([&](const auto&... field) { (expect(field), ...); }, trace::Shape<Body>::kFields);
}

TEST(TraceDocument, DescribesEveryEventFieldAndWord) {
  const Document document;
  ExpectDocumented<TraceHeader>(document);
  [&]<typename... Bodies>(std::variant<Bodies...>*) {
    (ExpectDocumented<Bodies>(document), ...);
  }(static_cast<TraceBody*>(nullptr));
}

}  // namespace
}  // namespace skald
