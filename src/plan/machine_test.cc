#include "skald/machine.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

TEST(NamedMachine, HasTheFiguresOfItsDataSheet) {
  const Machine h100 = *NamedMachine("h100");
  EXPECT_EQ(h100.ceilings.read_bytes_per_second, 3.35e12);
  EXPECT_EQ(2 * h100.ceilings.bfloat16_macs_per_second, 989e12);
  EXPECT_EQ(h100.memory_bytes, 80'000'000'000);
  EXPECT_EQ(NamedMachine("h200")->memory_bytes, 141'000'000'000);
  EXPECT_NEAR(NamedMachine("xeon6")->ceilings.read_bytes_per_second, 844.8e9, 1e6);
  const Result<Machine> none = NamedMachine("h300");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(none.status().message(),
            "there is no machine 'h300', expected one of h100, h200, xeon6");
}

std::string Line(std::string_view kind, double share) {
  return "{\"cpu_info\": \"a CPU\", " + std::string(kind) +
         ", \"share\": " + std::to_string(share) +
         ", \"int8_macs_per_second\": 4e12, \"bfloat16_macs_per_second\": 2e12, "
         "\"float_macs_per_second\": 1e11, \"read_bytes_per_second\": 2e10}";
}
const char* const kPrefill = R"("n_prompt": 512, "n_gen": 0, "n_sequences": 1, "bound": "int8")";
const char* const kDecode = R"("n_prompt": 0, "n_gen": 128, "n_sequences": 1, "bound": "read")";
// With so many sequences decode waits for arithmetic as well.
const char* const kMany = R"("n_prompt": 0, "n_gen": 128, "n_sequences": 64, "bound": "int8")";

TEST(MachineOfBench, TakesCeilingsAndTheSharesOfTheFirstOfEachKind) {
  const Result<Machine> machine =
      MachineOfBench("[" + Line(kPrefill, 0.5) + "," + Line(kDecode, 0.9) + "," + Line(kMany, 0.4) +
                     "," + Line(kDecode, 0.2) + "]");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ(machine->arithmetic_share, 0.5);
  EXPECT_EQ(machine->memory_share, 0.9);
  EXPECT_EQ(machine->ceilings.int8_macs_per_second, 4e12);
  EXPECT_EQ(machine->ceilings.read_bytes_per_second, 2e10);
  EXPECT_EQ(machine->source, "skald bench on a CPU");
  EXPECT_EQ(MachineOfBench("[" + Line(kDecode, 0.9) + "]")->arithmetic_share, 1);
}

TEST(MachineOfBench, RefusesWhatIsNoneAndSaysWhy) {
  for (const std::string text : {"", "{}", "[]", "[3]", "[{}]", "[{\"n_gen\": 1}]"}) {
    const Result<Machine> machine = MachineOfBench(text);
    ASSERT_FALSE(machine.ok()) << text;
    EXPECT_EQ(machine.status().code(), ErrorCode::kBadModel);
  }
  for (const double share : {0.0, -1.0}) {
    const Result<Machine> machine = MachineOfBench("[" + Line(kDecode, share) + "]");
    ASSERT_FALSE(machine.ok());
    EXPECT_NE(machine.status().message().find("share is missing or no positive number"),
              std::string::npos)
        << machine.status().message();
  }
}

}  // namespace
}  // namespace skald
