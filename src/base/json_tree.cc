#include "base/json_tree.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <limits>
#include <utility>

namespace skald {

namespace json = boost::json;

// What Boost's parser calls while it reads. Texts are collected behind those of the tree, because
// the parser may give one text in several parts.
class JsonTreeHandler {
 public:
  // The parser takes these as bounds; the size of the document bounds all of them.
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code& error) { return Open(JsonKind::kObject, error); }
  bool on_object_end(size_t, json::error_code&) { return Close(); }
  bool on_array_begin(json::error_code& error) { return Open(JsonKind::kArray, error); }
  bool on_array_end(size_t, json::error_code&) { return Close(); }
  bool on_key_part(json::string_view part, size_t, json::error_code&) { return Append(part); }
  bool on_key(json::string_view part, size_t, json::error_code&) {
    Append(part);
    name_ = TakeText();
    return true;
  }
  bool on_string_part(json::string_view part, size_t, json::error_code&) { return Append(part); }
  bool on_string(json::string_view part, size_t, json::error_code& error) {
    Append(part);
    JsonTree::Node node;
    node.kind = JsonKind::kString;
    node.text = TakeText();
    return Add(node, error);
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    if (number_texts) Append(part);
    return true;
  }
  bool on_int64(int64_t number, json::string_view, json::error_code& error) {
    tree.texts_.resize(text_begin_);  // of parts before this one: the number says all
    JsonTree::Node node;
    node.kind = JsonKind::kInt;
    node.integer = number;
    return Add(node, error);
  }
  bool on_uint64(uint64_t number, json::string_view part, json::error_code& error) {
    return AddDouble(static_cast<double>(number), part, error);  // beyond 64 signed bits
  }
  bool on_double(double number, json::string_view part, json::error_code& error) {
    return AddDouble(number, part, error);
  }
  bool on_bool(bool value, json::error_code& error) {
    JsonTree::Node node;
    node.kind = JsonKind::kBool;
    node.boolean = value;
    return Add(node, error);
  }
  bool on_null(json::error_code& error) { return Add({}, error); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  JsonTree tree;
  bool number_texts = false;

 private:
  bool Append(json::string_view part) {
    tree.texts_.append(part.data(), part.size());
    return true;
  }

  // The text that has been read to its end.
  JsonTree::Range TakeText() {
    const auto end = static_cast<uint32_t>(tree.texts_.size());
    const uint32_t begin = std::exchange(text_begin_, end);
    return {begin, end - begin};
  }

  // Returns false, with an error, if the tree is full.
  bool Add(JsonTree::Node node, json::error_code& error) {
    if (tree.nodes_.size() == kJsonTreeValues) {
      error = json::error::array_too_large;
      return false;
    }
    node.name = std::exchange(name_, {});
    node.end = static_cast<uint32_t>(tree.nodes_.size()) + 1;
    tree.nodes_.push_back(node);
    return true;
  }

  bool AddDouble(double number, json::string_view part, json::error_code& error) {
    if (number_texts) {
      Append(part);
      tree.number_texts_.push_back({static_cast<uint32_t>(tree.nodes_.size()), TakeText()});
    }
    JsonTree::Node node;
    node.kind = JsonKind::kDouble;
    node.number = number;
    return Add(node, error);
  }

  bool Open(JsonKind kind, json::error_code& error) {
    JsonTree::Node node;
    node.kind = kind;
    open_.push_back(static_cast<uint32_t>(tree.nodes_.size()));
    return Add(node, error);
  }

  bool Close() {
    tree.nodes_[open_.back()].end = static_cast<uint32_t>(tree.nodes_.size());
    open_.pop_back();
    return true;
  }

  std::vector<uint32_t> open_;  // arrays and objects around the next value
  uint32_t text_begin_ = 0;     // of the text that is being read
  JsonTree::Range name_ = {};   // of the next value
};

Result<JsonTree> JsonTree::Parse(std::string_view text, const JsonTreeOptions& tree_options) {
  if (text.size() > std::numeric_limits<uint32_t>::max())
    return Status(ErrorCode::kBadModel, "4 GiB of JSON and more");
  json::parse_options options;
  options.max_depth = tree_options.depth;
  json::basic_parser<JsonTreeHandler> parser(options);
  parser.handler().number_texts = tree_options.number_texts;
  json::error_code error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (error) {
    return Status(ErrorCode::kBadModel,
                  "no JSON at byte " + std::to_string(read) + ": " + error.message());
  }
  return std::move(parser.handler().tree);
}

JsonKind JsonValue::kind() const { return tree_->nodes_[index_].kind; }

std::string_view JsonValue::name() const { return tree_->TextOf(tree_->nodes_[index_].name); }

std::optional<bool> JsonValue::AsBool() const {
  if (kind() != JsonKind::kBool) return std::nullopt;
  return tree_->nodes_[index_].boolean;
}

std::optional<int64_t> JsonValue::AsInt() const {
  const JsonTree::Node& node = tree_->nodes_[index_];
  if (node.kind == JsonKind::kInt) return node.integer;
  if (node.kind != JsonKind::kDouble) return std::nullopt;
  constexpr double kExact = 9007199254740992;  // 2^53: up to here doubles are exact integers
  const bool fits = node.number >= -kExact && node.number <= kExact;
  if (!fits || static_cast<double>(static_cast<int64_t>(node.number)) != node.number)
    return std::nullopt;
  return static_cast<int64_t>(node.number);
}

std::optional<double> JsonValue::AsNumber() const {
  const JsonTree::Node& node = tree_->nodes_[index_];
  if (node.kind == JsonKind::kDouble) return node.number;
  if (node.kind != JsonKind::kInt) return std::nullopt;
  return static_cast<double>(node.integer);
}

std::optional<std::string_view> JsonValue::AsString() const {
  const JsonTree::Node& node = tree_->nodes_[index_];
  if (node.kind != JsonKind::kString) return std::nullopt;
  return tree_->TextOf(node.text);
}

std::string JsonValue::NumberText() const {
  if (kind() == JsonKind::kInt) return std::to_string(tree_->nodes_[index_].integer);
  const auto& texts = tree_->number_texts_;
  const auto found = std::lower_bound(
      texts.begin(), texts.end(), index_,
      [](const JsonTree::NumberText& text, uint32_t node) { return text.node < node; });
  if (found == texts.end() || found->node != index_) return {};
  return std::string(tree_->TextOf(found->text));
}

std::optional<JsonValue> JsonValue::Find(std::string_view name) const {
  if (!IsObject()) return std::nullopt;
  for (const JsonValue member : *this)
    if (member.name() == name) return member;
  return std::nullopt;
}

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  index_ = tree_->nodes_[index_].end;
  return *this;
}

JsonValue::Iterator JsonValue::begin() const {
  const bool has_inside = IsObject() || IsArray();
  return Iterator(*tree_, has_inside ? index_ + 1 : tree_->nodes_[index_].end);
}

JsonValue::Iterator JsonValue::end() const { return Iterator(*tree_, tree_->nodes_[index_].end); }

size_t JsonValue::size() const {
  size_t count = 0;
  for (Iterator i = begin(); i != end(); ++i) ++count;
  return count;
}

}  // namespace skald
