#include "chat/json_value.h"

#include <boost/json.hpp>
#include <string>

#include "base/status_macros.h"

namespace skald::chat {

namespace {

Value FromText(Heap& heap, std::string_view text) {
  TextBuilder builder(heap.budget());
  builder.Add(text, Origin::kData);
  return builder.Take();
}

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
    case boost::json::kind::uint64:
      // Always over 2^63: Python would write all digits of it.
      return Value(static_cast<double>(json.get_uint64()));
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

}  // namespace

Result<Value> FromJsonValue(Heap& heap, const boost::json::value& json) {
  return Convert(heap, json, 0);
}

Result<Value> ParseJson(Heap& heap, std::string_view text) {
  if (!heap.budget().Take(static_cast<int64_t>(text.size()))) return heap.budget().status();
  boost::json::error_code error;
  const boost::json::value json =
      boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  heap.budget().Return(static_cast<int64_t>(text.size()));
  if (error) {
    return Status(ErrorCode::kInvalidArgument, "expected JSON: " + error.message());
  }
  return FromJsonValue(heap, json);
}

}  // namespace skald::chat
