#include "grammar/closure.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "grammar/containers.h"

namespace skald::grammar {

namespace {

// Up to so many a search from the beginning is quicker than a table.
constexpr size_t kFew = 16;

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: Knuth, volume 3, 6.4

bool IsContainer(const Rule& rule) {
  return std::holds_alternative<Array>(rule) || std::holds_alternative<Object>(rule);
}

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

Frame::~Frame() {
  // Frames hang on one another like the brackets of the text. One by one, because a chain of
  // destructors would be as deep as that.
  std::vector<std::shared_ptr<const Frame>> pending = std::move(older);
  while (!pending.empty()) {
    const std::shared_ptr<const Frame> frame = std::move(pending.back());
    pending.pop_back();
    if (frame.use_count() > 1) continue;
    for (std::shared_ptr<const Frame>& other : frame->older) pending.push_back(std::move(other));
    frame->older.clear();
  }
}

size_t Closure::ItemHash::operator()(const Item& item) const {
  // The pointer is not the client's to choose, and a row is bounded: collisions are no attack.
  uint64_t hash = reinterpret_cast<uintptr_t>(item.context) >> 4;
  hash = (hash ^ item.rule) * kMultiplier;
  hash = (hash ^ (hash >> 32) ^ item.state) * kMultiplier;
  hash = (hash ^ (hash >> 32) ^ item.count) * kMultiplier;
  return hash ^ (hash >> 29);
}

bool Closure::Spend(int64_t steps) {
  steps_left_ -= steps;
  if (steps_left_ < 0) row_.too_complex = true;
  return !row_.too_complex;
}

void Closure::Add(const Item& item) {
  if (agenda_.size() < kFew) {
    if (Contains(agenda_, item)) return;
  } else {
    if (met_.empty()) met_.insert(agenda_.begin(), agenda_.end());
    if (!met_.insert(item).second) return;
  }
  agenda_.push_back(item);
  // Items that are passed through count, too: nothing else bounds how many there are.
  if (agenda_.size() > 4 * kRowItemsMax) row_.too_complex = true;
}

void Closure::AddFinished(const Context* context) {
  for (const Item& caller : context->callers) Resume(caller, context);
}

void Closure::AddRoot() {
  const Item end{kEndOfText, 0, 0, nullptr};
  Context* root = ContextOf(form_.root, IsContainer(form_.rules[form_.root]) ? 1 : 0);
  root->callers.push_back(end);
  Add({form_.root, 0, 0, root});
}

std::shared_ptr<const Row> Closure::Finish() {
  if (agenda_.empty()) return nullptr;
  row_.begins_in_leaf = agenda_.size() == 1 && GoesOnInLeaf(agenda_.front());
  row_.begins_in_key = agenda_.size() == 1 && IsInKey(agenda_.front());
  row_.begins_in_blanks = agenda_.size() == 1 && IsInBlanks(agenda_.front());
  while (done_ < agenda_.size() && Spend(1)) {
    const Item item = agenda_[done_++];  // the agenda grows meanwhile
    Process(item);
  }
  if (row_.items.size() > kRowItemsMax) row_.too_complex = true;
  if (row_.too_complex) row_.items.clear();
  KeepFrames();
  row_.steps = kRowSteps - steps_left_;
  return std::make_shared<const Row>(std::move(row_));
}

void Closure::Process(const Item& item) {
  if (item.rule == kEndOfText) {
    row_.accepting = true;
    return;
  }
  std::visit([&](const auto& kind) { Walk(item, kind); }, form_.rules[item.rule]);
}

void Closure::Walk(const Item& item, const Automaton& automaton) {
  const AutomatonState& state = automaton.states[item.state];
  if (state.HasSymbols()) row_.items.push_back(item);
  for (const uint32_t target : state.empty) Add({item.rule, target, 0, item.context});
  for (const RuleEdge& edge : state.rules)
    Predict(edge.rule, {item.rule, edge.target, 0, item.context});
  Spend(static_cast<int64_t>(state.empty.size() + state.rules.size()));
  if (state.accepting) Complete(item.context);
}

void Closure::Walk(const Item& item, const Leaf& leaf) {
  if (leaf.goes_on[item.state]) row_.items.push_back(item);
  if (leaf.Accepts(item.state, item.count)) Complete(item.context);
}

void Closure::Walk(const Item& item, const Counted& counted) {
  const uint32_t count = item.count;
  if (count >= counted.min) Complete(item.context);
  if (count >= counted.max) return;
  // Beyond the least number an unbounded count says nothing more.
  const bool saturated = counted.max == kUnbounded && count >= counted.min;
  Predict(counted.rule, {item.rule, 0, saturated ? count : count + 1, item.context});
}

void Closure::Walk(const Item& item, const Array&) { WalkContainer(item); }

void Closure::Walk(const Item& item, const Object&) { WalkContainer(item); }

void Closure::WalkContainer(const Item& item) {
  if (MayEndContainer(form_, item)) Complete(item.context);
  if (TakesContainerByte(form_, item)) row_.items.push_back(item);
  if (const std::optional<Element> element = NextElement(form_, item); element.has_value())
    Predict(element->rule, element->after);
}

void Closure::Complete(const Context* context) {
  if (context->frame == frame_.get()) {
    if (Contains(completed_, context)) return;
    Spend(static_cast<int64_t>(completed_.size()));
    completed_.push_back(context);
  }
  // By index: a rule that is empty and calls itself gets callers while they are resumed.
  for (size_t i = 0; i < context->callers.size() && Spend(1); ++i)
    Resume(context->callers[i], context);
}

void Closure::Resume(const Item& caller, const Context* finished) {
  // Of what is empty a repetition may have any number: counting it would only make items.
  const bool is_count =
      caller.rule != kEndOfText && std::holds_alternative<Counted>(form_.rules[caller.rule]);
  if (is_count && finished->frame == frame_.get()) return;
  Add(caller);
}

void Closure::Predict(uint32_t rule, const Item& caller) {
  const uint32_t outside = caller.context->depth;
  if (form_.depths[rule] == Form::kNever || form_.depths[rule] + outside > kTextDepthMax) return;
  Context* context = ContextOf(rule, outside + (IsContainer(form_.rules[rule]) ? 1 : 0));
  const bool is_new = context->callers.empty();
  if (IsTailCall(caller)) {
    for (const Item& outer : caller.context->callers) AddCaller(outer, context);
  } else {
    AddCaller(caller, context);
  }
  if (is_new) Add({rule, 0, 0, context});
}

bool Closure::GoesOnInLeaf(const Item& item) const {
  if (item.rule == kEndOfText) return false;
  const auto* leaf = std::get_if<Leaf>(&form_.rules[item.rule]);
  return leaf != nullptr && leaf->goes_on[item.state];
}

bool Closure::IsInKey(const Item& item) const {
  return item.rule != kEndOfText && std::holds_alternative<Object>(form_.rules[item.rule]) &&
         Place::Of(item.state).phase == Phase::kKey;
}

bool Closure::IsInBlanks(const Item& item) const {
  return item.rule != kEndOfText && IsContainer(form_.rules[item.rule]) &&
         MayStandInBlanks(form_, item);
}

// Nothing follows the called rule in its caller, whose own callers are known. Called in place of
// the caller, a list that is written by right recursion takes one context and not one an element.
// After J. Leo, "A General Context-Free Parsing Algorithm Running in Linear Time ...", 1991.
bool Closure::IsTailCall(const Item& caller) const {
  if (caller.context->frame == frame_.get()) return false;
  const auto* automaton = std::get_if<Automaton>(&form_.rules[caller.rule]);
  return automaton != nullptr && automaton->states[caller.state].IsFinal();
}

void Closure::AddCaller(const Item& caller, Context* context) {
  if (!Spend(1 + static_cast<int64_t>(context->callers.size() / kFew))) return;
  if (Contains(context->callers, caller)) return;
  context->callers.push_back(caller);
  if (Contains<const Context*>(completed_, context)) Resume(caller, context);
}

Context* Closure::ContextOf(uint32_t rule, uint32_t depth) {
  if (frame_ == nullptr) frame_ = std::make_shared<Frame>();
  std::deque<Context>& contexts = frame_->contexts;
  if (contexts.size() < kFew) {
    for (Context& context : contexts)
      if (context.rule == rule) return &context;
  } else {
    if (contexts_.empty())
      for (Context& context : contexts) contexts_.emplace(context.rule, &context);
    const auto found = contexts_.find(rule);
    if (found != contexts_.end()) return found->second;
  }
  contexts.push_back({rule, frame_.get(), depth});
  if (!contexts_.empty()) contexts_.emplace(rule, &contexts.back());
  return &contexts.back();
}

void Closure::KeepFrames() {
  const auto keep = [&](std::vector<const Frame*> frames,
                        std::vector<std::shared_ptr<const Frame>>* kept) {
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    for (const Frame* frame : frames) kept->push_back(frame->shared_from_this());
  };
  std::vector<const Frame*> frames;
  for (const Item& item : row_.items) frames.push_back(item.context->frame);
  keep(std::move(frames), &row_.frames);
  if (frame_ == nullptr) return;
  std::vector<const Frame*> older;
  for (const Context& context : frame_->contexts)
    for (const Item& caller : context.callers)
      if (caller.context != nullptr && caller.context->frame != frame_.get())
        older.push_back(caller.context->frame);
  keep(std::move(older), &frame_->older);
}

}  // namespace skald::grammar
