/// The operators of expressions, with Python's rules for types.
#pragma once

#include "chat/builtins.h"
#include "chat/syntax_tree.h"
#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// `left op right`. Numbers are 64 bits: what does not fit is an error, not Python's longer number.
/// Errors: kInvalidArgument for operands that Python refuses too.
Result<Value> Apply(Runtime& runtime, BinaryOp op, const Value& left, const Value& right);
Result<Value> Negate(const Value& value);
Result<Value> Plus(const Value& value);
/// `left op right` of comparisons and `in`. Errors: values without an order, no container.
Result<bool> Holds(Runtime& runtime, CompareOp op, const Value& left, const Value& right);
/// Whether `value` can be a key of a dictionary.
bool IsKey(const Value& value);
/// `format % values`: %s, %d, %i, %f, %r, %x, %% with flags, width and precision.
Result<Text> FormatPercent(Runtime& runtime, const Text& format, const Value& values);

}  // namespace skald::chat
