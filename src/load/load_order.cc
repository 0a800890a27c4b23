#include "load/load_order.h"

#include <optional>
#include <string_view>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/status_macros.h"

namespace skald::load {
namespace {

// A longer path, or more names of tensors than any model has, is none.
constexpr uint64_t kMostText = 1 << 16;
constexpr uint64_t kMostNames = 1 << 20;

Status NotUnderstood(std::string_view what) {
  return Status(ErrorCode::kInvalidArgument, "what came is no " + std::string(what));
}

// Whether it is there, and then the number.
void Put(const std::optional<double>& number, ByteWriter* writer) {
  writer->Put(uint8_t{number.has_value()}).Put(number.value_or(0));
}

// False: there is no such thing.
bool Read(ByteReader* reader, std::optional<double>* number) {
  const auto exists = reader->Read<uint8_t>();
  const auto value = reader->Read<double>();
  if (!value || *exists > 1) return false;
  if (*exists == 1) *number = *value;
  return true;
}

// All of them, as numbers: stretch and context are whole and small.
std::vector<std::optional<double>> NumbersOf(const RopeOverride& rope) {
  const auto stretch =
      rope.stretch ? std::optional(static_cast<double>(*rope.stretch)) : std::nullopt;
  const auto context = rope.trained_context
                           ? std::optional(static_cast<double>(*rope.trained_context))
                           : std::nullopt;
  return {stretch,        rope.factor,    rope.base,     context, rope.extrapolation,
          rope.magnitude, rope.beta_fast, rope.beta_slow};
}

Result<RopeOverride> ReadRope(ByteReader* reader) {
  std::vector<std::optional<double>> numbers(NumbersOf({}).size());
  for (std::optional<double>& number : numbers) {
    if (!Read(reader, &number)) return NotUnderstood("rope");
  }
  RopeOverride rope = {.factor = numbers[1],
                       .base = numbers[2],
                       .extrapolation = numbers[4],
                       .magnitude = numbers[5],
                       .beta_fast = numbers[6],
                       .beta_slow = numbers[7]};
  constexpr double kMostContext = 1e15;  // exact in a double
  const auto within = [](const std::optional<double>& number, double most) {
    return !number || (*number >= 0 && *number <= most);
  };
  if (!within(numbers[0], static_cast<double>(RopeStretch::kYarn)) ||
      !within(numbers[3], kMostContext)) {
    return NotUnderstood("rope");
  }
  if (numbers[0]) rope.stretch = static_cast<RopeStretch>(*numbers[0]);
  if (numbers[3]) rope.trained_context = static_cast<int64_t>(*numbers[3]);
  return rope;
}

}  // namespace

std::vector<std::byte> WriteLoadOrder(const LoadOptions& options) {
  ByteWriter writer;
  writer.String(options.path)
      .Put(int32_t{options.threads})
      .Put(static_cast<uint8_t>(options.conventions))
      .Put(options.max_table_bytes);
  for (const std::optional<double>& number : NumbersOf(options.rope)) Put(number, &writer);
  writer.Put(options.endless.sinks).Put(options.endless.window);
  return writer.bytes();
}

Result<LoadOptions> ReadLoadOrder(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto path = reader.ReadString(kMostText);
  const auto threads = reader.Read<int32_t>();
  const auto conventions = reader.Read<uint8_t>();
  const auto table_bytes = reader.Read<int64_t>();
  if (!path || !table_bytes || *conventions > static_cast<uint8_t>(Conventions::kLlamaCpp)) {
    return NotUnderstood("order to load a model");
  }
  ASSIGN_OR_RETURN(const RopeOverride rope, ReadRope(&reader));
  const auto sinks = reader.Read<int64_t>();
  const auto window = reader.Read<int64_t>();
  if (!window || reader.remaining() > 0) return NotUnderstood("order to load a model");
  return LoadOptions{.path = std::string(*path),
                     .threads = *threads,
                     .conventions = static_cast<Conventions>(*conventions),
                     .rope = rope,
                     .endless = {.sinks = *sinks, .window = *window},
                     .max_table_bytes = *table_bytes};
}

std::vector<std::byte> WriteLoadAnswer(const LoadAnswer& answer) {
  ByteWriter writer;
  writer.Put(answer.identity).Put(uint64_t{answer.not_finite.size()});
  for (const std::string& name : answer.not_finite) writer.String(name);
  return writer.bytes();
}

Result<LoadAnswer> ReadLoadAnswer(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto identity = reader.Read<uint64_t>();
  const auto count = reader.Read<uint64_t>();
  if (!count || *count > kMostNames) return NotUnderstood("answer about a model");
  LoadAnswer answer = {.identity = *identity, .not_finite = {}};
  for (uint64_t i = 0; i < *count; ++i) {
    const auto name = reader.ReadString(kMostText);
    if (!name) return NotUnderstood("answer about a model");
    answer.not_finite.emplace_back(*name);
  }
  if (reader.remaining() > 0) return NotUnderstood("answer about a model");
  return answer;
}

}  // namespace skald::load
