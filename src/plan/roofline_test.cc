#include "skald/roofline.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

Roofline Small(const std::vector<int64_t>& batches, std::string_view machine = "h100") {
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  Roofline roofline = {.shape = shape.info(), .machine = *NamedMachine(machine)};
  for (const int64_t batch : batches) {
    roofline.forecasts.push_back(
        *ForecastOf(shape, {.threads = 1}, roofline.machine, {.decode_tokens = 1, .batch = batch}));
  }
  return roofline;
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RooflineSvg, ItsTitleSaysWhatIsToBeSeen) {
  const auto title = [](const std::vector<int64_t>& batches) {
    const std::string svg = RooflineSvg(Small(batches));
    const size_t begin = svg.find("<title id=\"title\">") + 18;
    return svg.substr(begin, svg.find('<', begin) - begin);
  };
  EXPECT_EQ(title({1, 64}), "A decode step of llama-3-8b on h100 waits for memory");
  EXPECT_EQ(title({1, 64, 1024}),
            "A decode step of llama-3-8b on h100 waits for memory with up to 64 sequences");
  EXPECT_EQ(title({1024}), "A decode step of llama-3-8b on h100 waits for arithmetic");
  EXPECT_EQ(title({}), "llama-3-8b on h100");
}

TEST(RooflineSvg, DepthDoesNotChangeTheFinding) {
  Roofline roofline = Small({64, 1024});
  roofline.forecasts.push_back(*ForecastOf(*NamedModelShape("llama-3-8b"), {.threads = 1},
                                           roofline.machine,
                                           {.decode_tokens = 1, .batch = 1024, .depth = 4096}));
  ASSERT_EQ(roofline.forecasts.back().bound.resource, Resource::kMemory);
  EXPECT_NE(RooflineSvg(roofline).find("with up to 64 sequences"), std::string::npos);
}

TEST(RooflineSvg, HasADotForEachForecastAndItsFigures) {
  Roofline roofline = Small({1, 4, 16});
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  roofline.forecasts.push_back(
      *ForecastOf(shape, {.threads = 1}, roofline.machine, {.prompt_tokens = 512}));
  const std::string svg = RooflineSvg(roofline);
  EXPECT_EQ(Count(svg, "<circle "), 3u);
  EXPECT_EQ(Count(svg, "<rect "), 1u);
  EXPECT_EQ(Count(svg, "&quot;tokens_per_second&quot;"), 4u);
  EXPECT_NE(svg.find("bf16, 989 TFLOP/s"), std::string::npos) << svg;
  EXPECT_NE(svg.find("memory, 3.35 TB/s"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("int8"), std::string::npos) << "no weight is an integer";
}

// A dot of an ideal machine that waits for memory lies on its slope: 45 degrees in decades.
TEST(RooflineSvg, DotsLieUnderTheRoof) {
  for (const char* machine : {"h100", "xeon6"}) {
    const Roofline roofline = Small({1, 8, 4096}, machine);
    const Ceilings& all = roofline.machine.ceilings;
    for (const Forecast& forecast : roofline.forecasts) {
      const double rate = forecast.operations / forecast.seconds;
      EXPECT_LE(rate, 2 * all.bfloat16_macs_per_second * (1 + 1e-9));
      EXPECT_LE(rate, forecast.intensity * all.read_bytes_per_second * (1 + 1e-9));
    }
  }
}

TEST(RooflineSvg, NamesCannotLeaveTheirPlace) {
  Roofline roofline = Small({1});
  roofline.shape.name = "<script>\"&\x01";
  roofline.command = "a > b";
  const std::string svg = RooflineSvg(roofline);
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&quot;&amp;U+0001"), std::string::npos) << svg;
  EXPECT_NE(svg.find("a &gt; b"), std::string::npos);
}

}  // namespace
}  // namespace skald
