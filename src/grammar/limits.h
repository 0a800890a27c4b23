/// The bounds of a grammar: what a compiled one may hold, and what compiling and walking may cost.
///
/// All of them count things or steps, never time, so that the same grammar is taken or refused on
/// every machine (docs/grammar.md has the table for users).
#pragma once

#include <cstddef>
#include <cstdint>

namespace skald::grammar {

inline constexpr size_t kRegexBytesMax = size_t{16} << 10;
inline constexpr size_t kGbnfBytesMax = size_t{256} << 10;
inline constexpr size_t kSchemaBytesMax = size_t{256} << 10;
inline constexpr size_t kSchemaDepthMax = 64;
/// $ref followed one behind the other, and choices inside of choices, at one place of a text.
inline constexpr int kReferencesMax = 64;
inline constexpr size_t kPropertiesMax = 5'000;
inline constexpr size_t kEnumValuesMax = 5'000;
/// The largest minLength and minItems: no context holds as many.
inline constexpr uint64_t kLeastMax = 10'000'000;
inline constexpr size_t kRulesMax = 10'000;

/// Groups inside of groups. Parsers recurse once a level: this bounds their stack.
inline constexpr int kNestingMax = 64;

/// States of all automata of a grammar, before and after they are made deterministic.
inline constexpr size_t kStatesMax = 200'000;

/// Steps of compiling: an edge looked at, an item made. About 50 ms on one core.
inline constexpr int64_t kCompileSteps = 5'000'000;

/// An automaton is made deterministic if that takes at most so many states; else its states are
/// walked as a set, which costs their number for each byte but nothing beforehand.
inline constexpr size_t kDeterministicStatesMax = 4096;

/// And only to so many times the states it had: what grows further doubles with each letter, as
/// (a|b)*a(a|b){n}, and comes to 4096 for nothing. No rule of the recorded cases doubles even once.
inline constexpr size_t kDeterministicGrowthMax = 4;

/// Copies that repetitions inside of one another come to: (x{99}){99} is 9,801.
inline constexpr uint64_t kNestedCopiesMax = 200'000;

/// The largest number in {m,n}.
inline constexpr uint32_t kRepeatMax = 1'000'000'000;

/// The largest number of a token in a grammar: no vocabulary has as many.
inline constexpr uint32_t kTokenIdMax = 1'000'000'000;

/// Containers of JSON inside of one another in a text: the grammar then allows no further one.
inline constexpr uint32_t kTextDepthMax = 512;

/// Bytes of a key without quotes that is not declared. Every reader of such keys takes more.
inline constexpr uint32_t kBareKeyBytesMax = 256;

/// What is alive at one byte of a text: no unambiguous grammar has more than some dozens.
inline constexpr size_t kRowItemsMax = 2'000;

/// Steps that one byte of a text may take.
inline constexpr int64_t kRowSteps = 400'000;

/// Steps of one mask: a byte tried behind an item, a step of a row.
inline constexpr int64_t kMaskSteps = 4'000'000;

}  // namespace skald::grammar
