#include "chat/json_value.h"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace skald::chat {

namespace {

Value FromText(Heap& heap, std::string_view text) {
  return MakeText(heap.budget(), text, Origin::kData);
}

// Always over 2^63: Python would write all digits of it.
Value FromUnsigned(uint64_t number) { return static_cast<double>(number); }

Result<Value> Convert(Heap& heap, const boost::json::value& json, int depth) {
  if (depth > kMaxValueDepth) {
    return Status(ErrorCode::kResourceExhausted,
                  "the variables are nested too deeply; expected at most " +
                      std::to_string(kMaxValueDepth) + " levels");
  }
  if (heap.budget().exhausted()) return heap.budget().status();
  switch (json.kind()) {
    case boost::json::kind::null: return Value(None{});
    case boost::json::kind::bool_: return Value(json.get_bool());
    case boost::json::kind::int64: return Value(json.get_int64());
    case boost::json::kind::uint64: return FromUnsigned(json.get_uint64());
    case boost::json::kind::double_: return Value(json.get_double());
    case boost::json::kind::string:
      return FromText(heap, {json.get_string().data(), json.get_string().size()});
    case boost::json::kind::array: {
      Sequence* list = heap.NewSequence();
      for (const boost::json::value& item : json.get_array()) {
        ASSIGN_OR_RETURN(const Value value, Convert(heap, item, depth + 1));
        heap.Append(*list, value);
      }
      return Value(list);
    }
    case boost::json::kind::object: break;
  }
  Dict* dict = heap.NewDict();
  for (const auto& [key, item] : json.get_object()) {
    ASSIGN_OR_RETURN(const Value value, Convert(heap, item, depth + 1));
    heap.Set(*dict, FromText(heap, {key.data(), key.size()}), value);
  }
  return Value(dict);
}

// Makes values of what the parser finds: nothing is built that the budget does not count, and no
// table of the library's, whose hashes whoever writes the text can make collide.
class ValueBuilder {
 public:
  // What the parser asks for: its own bound on a string it hands over in one piece.
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;

  using Code = boost::json::error_code;
  using View = boost::json::string_view;

  explicit ValueBuilder(Heap& heap) : heap_(heap) {}
  Value Take() { return std::move(result_); }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code& error) { return Open(heap_.NewSequence(), error); }
  bool on_array_end(size_t, Code&) { return Close(); }
  bool on_object_begin(Code& error) { return Open(heap_.NewDict(), error); }
  bool on_object_end(size_t, Code&) { return Close(); }
  bool on_string_part(View part, size_t, Code&) { return Part(part); }
  bool on_string(View rest, size_t, Code& error) { return Put(Whole(rest), error); }
  bool on_key_part(View part, size_t, Code&) { return Part(part); }
  bool on_key(View rest, size_t, Code&) {
    open_.back().key = Whole(rest);
    return true;
  }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(int64_t number, View, Code& error) { return Put(number, error); }
  bool on_uint64(uint64_t number, View, Code& error) { return Put(FromUnsigned(number), error); }
  bool on_double(double number, View, Code& error) { return Put(number, error); }
  bool on_bool(bool flag, Code& error) { return Put(flag, error); }
  bool on_null(Code& error) { return Put(None{}, error); }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

 private:
  struct Container {
    Value value;
    Value key = None{};
  };

  bool Part(View part) {
    text_.append(part.data(), part.size());
    return true;
  }
  Value Whole(View rest) {
    Part(rest);
    Value text = FromText(heap_, text_);
    text_.clear();
    return text;
  }
  bool Put(const Value& value, Code& error) {
    if (heap_.budget().exhausted()) {
      error = boost::json::make_error_code(boost::json::error::array_too_large);
      return false;
    }
    if (open_.empty()) {
      result_ = value;
    } else if (auto* const* list = std::get_if<Sequence*>(&open_.back().value)) {
      heap_.Append(**list, value);
    } else {
      heap_.Set(*std::get<Dict*>(open_.back().value), open_.back().key, value);
    }
    return true;
  }
  bool Open(Value container, Code& error) {
    if (!Put(container, error)) return false;
    open_.push_back({std::move(container)});
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Heap& heap_;
  Value result_;
  std::vector<Container> open_;  // no deeper than the parser goes
  std::string text_;             // of a string that comes in parts
};

}  // namespace

Result<Value> FromJsonValue(Heap& heap, const boost::json::value& json) {
  return Convert(heap, json, 0);
}

Result<Value> ParseJson(Heap& heap, std::string_view text) {
  Budget& budget = heap.budget();
  // A copy of the longest string, while the parser puts it together.
  const auto copied = static_cast<int64_t>(text.size());
  if (!budget.Take(copied)) return budget.status();
  boost::json::error_code error;
  boost::json::basic_parser<ValueBuilder> parser({}, heap);
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  budget.Return(copied);
  if (budget.exhausted()) return budget.status();
  if (!error && read < text.size()) error = boost::json::error::extra_data;
  if (error) return Status(ErrorCode::kInvalidArgument, "expected JSON: " + error.message());
  return parser.handler().Take();
}

}  // namespace skald::chat
