/// What one template and one rendering may use. A model file is untrusted, and so are the messages
/// of a request: everything that either can make grow is bounded here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skald::chat {

/// Most tokens of a source: names, numbers, operators, texts between tags. One becomes some 300
/// bytes of syntax tree at most, so this is 40 MB; the largest of 65 published templates has 4,000.
inline constexpr size_t kMaxSourceTokens = size_t{1} << 17;

/// Deepest nesting of expressions and statements of a source: what parsing, evaluating and freeing
/// the tree recurse by. Published templates reach 20, chains of "+" included.
inline constexpr int kMaxTreeDepth = 200;

/// Deepest nesting of a running template: expressions and statements of all macros being called. A
/// level takes under 1.5 KiB of stack in a release build, under 5 KiB with AddressSanitizer, of the
/// 8 MiB a thread has. A macro that calls itself for a nested JSON schema takes some 10 levels a
/// call.
inline constexpr int kMaxRunDepth = 1000;

/// Deepest nesting of a value that is compared, printed or written as JSON. What arrives as JSON is
/// shallower (its parser's bound is 32).
inline constexpr int kMaxValueDepth = 100;

/// Steps of a rendering: a node evaluated, an item of a collection handled, 32 bytes of text read
/// by character or 128 copied, compared or searched (budget.h). A message takes 50 to 300, so this
/// is some 20,000 messages. A step takes some 75 ns, the dearest 500: 0.3 s, 2 s at most.
inline constexpr int64_t kMaxSteps = int64_t{4} << 20;

/// Memory of the values of a rendering, its scopes and its output, as the allocator gives it: 16
/// million tokens of text. What builtins need while they work counts, too.
inline constexpr int64_t kMaxValueBytes = int64_t{64} << 20;

/// Longest range(), as the sandbox of Jinja has it (MAX_RANGE).
inline constexpr int64_t kMaxRange = 100'000;

/// Widest indentation, padding or precision that a template may ask for.
inline constexpr int64_t kMaxWidth = 1'000;

}  // namespace skald::chat
