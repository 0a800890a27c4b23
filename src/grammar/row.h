/// Row: what is alive behind one byte of a text. Immutable and shared.
///
/// An item is a place in a rule, and the context in which the rule was begun: what goes on behind
/// it. Contexts stand in the frame of the byte where their rules were begun; a frame holds the
/// older ones that its contexts lead to. So a row of a text keeps alive what it can still come back
/// to, and nothing else.
///
/// This is an Earley recogniser (J. Earley, "An Efficient Context-Free Parsing Algorithm", 1970)
/// with its items' origins as pointers, and automata in the place of dotted rules.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "grammar/object_run.h"

namespace skald::grammar {

struct Context;
struct Frame;

struct Item {
  uint32_t rule;
  uint32_t state;  ///< of an Automaton or Leaf; a place in an Array or Object (containers.h)
  uint32_t count;  ///< of Counted, a counted Leaf, an Array: how many so far
  const Context* context;  ///< what follows the rule
  /// Of an Object: which members came so far. Null before the first.
  std::shared_ptr<const ObjectRun> run = nullptr;

  friend bool operator==(const Item&, const Item&) = default;
};

/// The rule of the one item that waits for the end of the root rule.
inline constexpr uint32_t kEndOfText = std::numeric_limits<uint32_t>::max();

/// A rule that was begun at some byte.
struct Context {
  uint32_t rule;
  const Frame* frame;              ///< where it stands
  uint32_t depth;                  ///< containers of JSON around its text, its own counted
  std::vector<Item> callers = {};  ///< the items that go on when the rule is finished
};

/// The contexts of one byte.
struct Frame : std::enable_shared_from_this<Frame> {
  Frame() = default;
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::deque<Context> contexts;
  /// Frames of the callers' contexts. Mutable for the destructor of a later one, which takes it
  /// apart without recursion.
  mutable std::vector<std::shared_ptr<const Frame>> older;
};

struct Row {
  std::vector<Item> items = {};                           ///< those that a byte or token may follow
  std::vector<std::shared_ptr<const Frame>> frames = {};  ///< of the items' contexts
  bool accepting = false;                                 ///< whether the text may end here
  bool too_complex = false;  ///< more is alive than kRowItemsMax, or it took more than kRowSteps
  int64_t steps = 0;         ///< that it took to make
  /// The first item is of a leaf, and the others are what goes on where this leaf ends.
  bool begins_in_leaf = false;
  /// The same of an object that is inside of a key: the others begin behind that key.
  bool begins_in_key = false;
  /// The same of a container where white space may follow: the others begin there, and with
  /// something else. So what follows other bytes hangs not on how much white space came before.
  bool begins_in_blanks = false;
};

}  // namespace skald::grammar
