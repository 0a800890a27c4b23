#include "cli/show_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/table.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald show                       the bundled model
  skald show -m model.gguf         sizes, context, memory it will need
  skald show -m model.gguf --metadata --tensors
  skald show -m model.gguf --json | jq .memory
)";

// "1190123 bytes" beside "1.1 MiB": people compare with `ls -l`.
std::string ExactBytes(int64_t bytes) { return fmt::format("{} ({} bytes)", Bytes(bytes), bytes); }

std::string Facts(const ModelDescription& description) {
  const ModelInfo& info = description.info;
  Table table({Align::kLeft, Align::kLeft});
  table.Add({"model", info.name});
  table.Add({"file", info.path});
  table.Add({"size",
             ExactBytes(info.file_bytes) + (description.part_count > 1
                                                ? fmt::format(", {} parts", description.part_count)
                                                : std::string())});
  table.Add({"format", description.format});
  table.Add({"architecture", info.architecture});
  table.Add(
      {"parameters", fmt::format("{} ({})", Count(info.parameter_count), info.parameter_count)});
  table.Add({"weights", info.weights_type});
  table.Add({"layers", fmt::format("{}", info.layer_count)});
  table.Add({"vocabulary", fmt::format("{} tokens", info.vocab_size)});
  table.Add({"context", fmt::format("{} tokens", info.context_length)});
  table.Add({"chat template", info.chat_template.empty()
                                  ? std::string("none")
                                  : fmt::format("{} bytes", info.chat_template.size())});
  return table.Text();
}

std::string TypeTable(const ModelDescription& description) {
  Table table({Align::kLeft, Align::kRight, Align::kRight});
  table.Add({"type", "tensors", "size"});
  for (const TypeSize& size : SizesByType(description.tensors))
    table.Add({size.type, fmt::format("{}", size.tensors), Bytes(size.bytes)});
  return table.Text();
}

// What K and V of a token take, by type.
struct KvBytes {
  std::string_view type;
  int64_t token;
};

std::vector<KvBytes> KvBytesOf(const ModelDescription& description) {
  std::vector<KvBytes> all = {{"f16", description.kv_bytes_per_token_f16},
                              {"f32", description.kv_bytes_per_token_f32}};
  if (description.kv_bytes_per_token_q8) all.push_back({"q8", *description.kv_bytes_per_token_q8});
  if (description.kv_bytes_per_token_q4) all.push_back({"q4", *description.kv_bytes_per_token_q4});
  return all;
}

std::string MemoryTable(const ModelDescription& description) {
  const std::vector<KvBytes> all = KvBytesOf(description);
  std::vector<Align> columns(all.size() + 1, Align::kRight);
  columns.front() = Align::kLeft;
  Table table(columns);
  const auto add = [&](const std::string& first, int64_t tokens) {
    std::vector<std::string> row = {first};
    for (const KvBytes& kv : all) row.push_back(Bytes(kv.token * tokens));
    table.Add(row);
  };
  std::vector<std::string> head = {"memory"};
  for (const KvBytes& kv : all) head.push_back(fmt::format("KV {}", kv.type));
  table.Add(head);
  add("a token", 1);
  for (const int64_t context : ContextsToShow(description.info.context_length))
    add(fmt::format("context {}", context), context);
  std::string text =
      fmt::format("{}weights, packed: {}\n", table.Text(), Bytes(description.info.weight_bytes));
  if (description.info.state_bytes > 0) {
    text += fmt::format("state of recurrent layers, a running sequence or a snapshot: {}\n",
                        Bytes(description.info.state_bytes));
  }
  return text;
}

std::string MetadataTable(const ModelDescription& description) {
  Table table({Align::kLeft, Align::kLeft, Align::kLeft});
  table.Add({"key", "type", "value"});
  for (const FileEntry& entry : description.metadata)
    table.Add({entry.name, entry.type, entry.value});
  return table.Text();
}

std::string TensorTable(const ModelDescription& description) {
  Table table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  table.Add({"tensor", "type", "shape", "size"});
  for (const FileEntry& entry : description.tensors)
    table.Add({entry.name, entry.type, entry.value, Bytes(entry.bytes)});
  return table.Text();
}

void WriteMemory(const ModelDescription& description, JsonWriter& json) {
  json.Key("memory").BeginObject();
  json.Key("weight_bytes").Int(description.info.weight_bytes);
  json.Key("state_bytes_per_sequence").Int(description.info.state_bytes);
  json.Key("kv_bytes_per_token").BeginObject();
  const std::vector<KvBytes> all = KvBytesOf(description);
  for (const KvBytes& kv : all) json.Key(kv.type).Int(kv.token);
  json.EndObject();
  json.Key("kv_bytes").BeginArray();
  for (const int64_t context : ContextsToShow(description.info.context_length)) {
    json.BeginObject().Key("context").Int(context);
    for (const KvBytes& kv : all) json.Key(kv.type).Int(kv.token * context);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteLists(const ModelDescription& description, const ShowLists& lists, JsonWriter& json) {
  if (lists.metadata) {
    json.Key("metadata").BeginArray();
    for (const FileEntry& entry : description.metadata) {
      json.BeginObject().Key("name").String(entry.name).Key("type").String(entry.type);
      json.Key("value").String(entry.value).EndObject();
    }
    json.EndArray();
  }
  if (lists.tensors) {
    json.Key("tensors").BeginArray();
    for (const FileEntry& entry : description.tensors) {
      json.BeginObject().Key("name").String(entry.name).Key("type").String(entry.type);
      json.Key("shape").String(entry.value).Key("bytes").Int(entry.bytes).EndObject();
    }
    json.EndArray();
  }
}

}  // namespace

std::vector<TypeSize> SizesByType(const std::vector<FileEntry>& tensors) {
  std::map<std::string, TypeSize> by_type;
  for (const FileEntry& tensor : tensors) {
    TypeSize& size = by_type[tensor.type];
    size.type = tensor.type;
    ++size.tensors;
    size.bytes += tensor.bytes;
  }
  std::vector<TypeSize> sizes;
  for (auto& [type, size] : by_type) sizes.push_back(std::move(size));
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const TypeSize& a, const TypeSize& b) { return a.bytes > b.bytes; });
  return sizes;
}

std::vector<int64_t> ContextsToShow(int64_t model_context) {
  std::vector<int64_t> contexts;
  for (const int64_t usual : {int64_t{2048}, int64_t{4096}})
    if (model_context <= 0 || usual < model_context) contexts.push_back(usual);
  if (model_context > 0) contexts.push_back(model_context);
  return contexts;
}

std::string ShowText(const ModelDescription& description, const ShowLists& lists) {
  std::string text =
      Facts(description) + '\n' + TypeTable(description) + '\n' + MemoryTable(description);
  if (lists.metadata) text += '\n' + MetadataTable(description);
  if (lists.tensors) text += '\n' + TensorTable(description);
  return text;
}

std::string ShowJson(const ModelDescription& description, const ShowLists& lists) {
  const ModelInfo& info = description.info;
  JsonWriter json;
  json.BeginObject();
  json.Key("name").String(info.name).Key("path").String(info.path);
  json.Key("file_bytes").Int(info.file_bytes).Key("parts").Int(description.part_count);
  json.Key("format").String(description.format);
  json.Key("architecture").String(info.architecture).Key("type").String(info.weights_type);
  json.Key("parameters").Int(info.parameter_count).Key("layers").Int(info.layer_count);
  json.Key("vocabulary").Int(info.vocab_size).Key("context").Int(info.context_length);
  json.Key("chat_template");
  info.chat_template.empty() ? json.Null() : json.String(info.chat_template);
  json.Key("types").BeginArray();
  for (const TypeSize& size : SizesByType(description.tensors)) {
    json.BeginObject().Key("type").String(size.type).Key("tensors").Int(size.tensors);
    json.Key("bytes").Int(size.bytes).EndObject();
  }
  json.EndArray();
  WriteMemory(description, json);
  WriteLists(description, lists, json);
  json.EndObject();
  return json.Take() + '\n';
}

void AddShowCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"show", "Show what is in a model file and what it needs", kExamples});
  const auto options = std::make_shared<ShowOptions>();
  AddModelArgs(verb, options->model);
  AddModelWord(verb, options->model);
  AddSwitch(verb, {"--metadata", "list all keys"}, options->lists.metadata, true);
  AddSwitch(verb, {"--tensors", "list all tensors"}, options->lists.tensors, true);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Show, &chosen);
}

Status Show(const ShowOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const ModelDescription description, DescribeModel(path));
  return console.Write(options.output.form == OutputForm::kJson
                           ? ShowJson(description, options.lists)
                           : ShowText(description, options.lists));
}

}  // namespace skald::cli
