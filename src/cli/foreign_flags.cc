#include "cli/foreign_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "cli/suggest.h"

namespace skald::cli {

namespace {

constexpr auto kNone = ForeignValue::kNone;
constexpr auto kOne = ForeignValue::kOne;
constexpr auto kMaybe = ForeignValue::kMaybe;
constexpr auto kOurs = ForeignAnswer::kOurs;
constexpr auto kIgnored = ForeignAnswer::kIgnored;
constexpr auto kRefused = ForeignAnswer::kRefused;

constexpr std::string_view kLlama = "llama.cpp";
constexpr std::string_view kOllama = "Ollama";
constexpr std::string_view kVllm = "vLLM";

constexpr std::string_view kCpu = "skald computes on the CPU";
constexpr std::string_view kNoSuchSampling =
    "skald has none of that name (skald run --help has those there are)";
constexpr std::string_view kNoConstraint =
    "type: --json-schema SCHEMA, --grammar GBNF or --regex REGEX";
constexpr std::string_view kAsInFile = "skald does as the model file says";
constexpr std::string_view kAsTemplate = "the server sees it in the model's template";
constexpr std::string_view kTextOnly = "skald reads text only";
constexpr std::string_view kAlwaysThere = "the server always has it";
constexpr std::string_view kAlwaysDone = "skald always does";
constexpr std::string_view kSystemDoes =
    "that is the system's business here: taskset, nice, numactl";
constexpr std::string_view kInMemory = "skald reads the file into memory of its own";
constexpr std::string_view kTypeOfK = "the type of K";
constexpr std::string_view kTypeOfV = "the type of V";
constexpr std::string_view kUseProxy = "put a proxy in front (deploy/ has examples)";

// Sorted by what they are about. The first row that has the name and suits the verb counts.
constexpr std::array kFlags = {
    // Ours under another name.
    ForeignFlag{"-ctk --cache-type-k", kLlama, kOne, kOurs, "--kv-type", kTypeOfK},
    ForeignFlag{"-ctv --cache-type-v", kLlama, kOne, kOurs, "--kv-type", kTypeOfV},
    ForeignFlag{"--kv-cache-dtype", kVllm, kOne, kOurs, "--kv-type", "the type of K and V"},
    ForeignFlag{"-md", kLlama, kOne, kOurs, "--draft", "the draft model"},
    ForeignFlag{"--draft-n", kLlama, kOne, kOurs, "--draft-max", "tokens to draft"},
    ForeignFlag{"--draft-n-min", kLlama, kOne, kOurs, "--draft-min", "fewest tokens to draft"},
    ForeignFlag{"--predict --num-predict --max-tokens --max-new-tokens", kLlama, kOne, kOurs,
                "--n-predict", "tokens to generate"},
    ForeignFlag{"-s", kLlama, kOne, kOurs, "--seed", "the seed"},
    ForeignFlag{"--num-ctx --max-model-len --n-ctx --max-seq-len", kVllm, kOne, kOurs, "--ctx-size",
                "the context"},
    ForeignFlag{"--num-thread --n-threads --cpu-threads", kOllama, kOne, kOurs, "--threads",
                "threads"},
    ForeignFlag{"-ub --ubatch-size --max-num-batched-tokens --prefill-chunk-size", kLlama, kOne,
                kOurs, "--chunk", "tokens of a step"},
    ForeignFlag{"-np --max-num-seqs", kLlama, kOne, kOurs, "--parallel", "sequences at once"},
    ForeignFlag{"--typical-p", kLlama, kOne, kOurs, "--typical", "typical sampling"},
    ForeignFlag{"--top-nsigma", kLlama, kOne, kOurs, "--top-n-sigma", "top-n-sigma"},
    ForeignFlag{"--mirostat-ent", kLlama, kOne, kOurs, "--mirostat-tau", "Mirostat's tau"},
    ForeignFlag{"--mirostat-lr", kLlama, kOne, kOurs, "--mirostat-eta", "Mirostat's eta"},
    ForeignFlag{"--repetition-penalty", kVllm, kOne, kOurs, "--repeat-penalty", "the penalty"},
    ForeignFlag{"-r --reverse-prompt", kLlama, kOne, kOurs, "--stop", "a text that ends"},
    ForeignFlag{"-sys --system-prompt", kLlama, kOne, kOurs, "--system", "the system text"},
    ForeignFlag{"--no-display-prompt", kLlama, kNone, kOurs, "--no-echo", "no prompt shown"},
    ForeignFlag{"-bf --binary-file", kLlama, kOne, kOurs, "--file", "the prompt's file"},
    ForeignFlag{"-v --log-verbose", kLlama, kNone, kOurs, "--verbose", "more to read"},
    ForeignFlag{"--nowordwrap", kOllama, kNone, kOurs, "--no-wrap", "words are broken"},

    // The GPU, and other machines.
    ForeignFlag{"-ngl --gpu-layers --n-gpu-layers --num-gpu", kLlama, kOne, kIgnored, "0",
                "the number of layers on a GPU", kCpu},
    ForeignFlag{"-fa --flash-attn", kLlama, kMaybe, kIgnored, "",
                "a choice between two kinds of attention", "skald has one, which keeps no matrix"},
    ForeignFlag{"-sm --split-mode", kLlama, kOne, kIgnored, "none", "how GPUs share", kCpu},
    ForeignFlag{"-ts --tensor-split", kLlama, kOne, kIgnored, "", "the share of each GPU", kCpu},
    ForeignFlag{"-mg --main-gpu", kLlama, kOne, kIgnored, "", "which GPU", kCpu},
    ForeignFlag{"-dev --device", kLlama, kOne, kIgnored, "cpu", "which device", kCpu},
    ForeignFlag{"-ot --override-tensor", kLlama, kOne, kIgnored, "", "what lies where", kCpu},
    ForeignFlag{"-nkvo --no-kv-offload", kLlama, kNone, kIgnored, "", "K and V outside of the GPU",
                kCpu},
    ForeignFlag{"-cmoe --cpu-moe", kLlama, kNone, kIgnored, "", "experts on the CPU", kCpu},
    ForeignFlag{"-ncmoe --n-cpu-moe", kLlama, kOne, kIgnored, "", "experts on the CPU", kCpu},
    ForeignFlag{"-ngld --gpu-layers-draft --n-gpu-layers-draft", kLlama, kOne, kIgnored, "0",
                "layers of the draft model on a GPU", kCpu},
    ForeignFlag{"-devd --device-draft", kLlama, kOne, kIgnored, "", "a device", kCpu},
    ForeignFlag{"-tp --tensor-parallel-size -pp --pipeline-parallel-size -dp --data-parallel-size",
                kVllm, kOne, kIgnored, "1", "the number of GPUs", kCpu},
    ForeignFlag{"--gpu-memory-utilization", kVllm, kOne, kIgnored, "",
                "the share of a GPU's memory", "--kv-positions of skald serve bounds the cache"},
    ForeignFlag{"--enforce-eager", kVllm, kNone, kIgnored, "", "no CUDA graphs", kCpu},
    ForeignFlag{"--rpc", kLlama, kOne, kRefused, "", "other machines that compute",
                "skald rank on each of them, --ranks and --rank-listen here (docs/ranks.md)"},

    // Memory, threads, steps.
    ForeignFlag{"--mlock --no-mmap --mmap --direct-io -dio", kLlama, kNone, kIgnored, "",
                "how the file comes into memory", kInMemory},
    ForeignFlag{"-b --batch-size", kLlama, kOne, kIgnored, "",
                "how many tokens of a prompt are handed over", "--chunk is the size of a step"},
    ForeignFlag{"-tb --threads-batch", kLlama, kOne, kIgnored, "", "threads for prompts",
                "-t counts for prompts and answers"},
    ForeignFlag{"--numa", kLlama, kOne, kIgnored, "", "the policy for memory nodes", kSystemDoes},
    ForeignFlag{"-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll", kLlama, kOne, kIgnored,
                "", "where and how threads run", kSystemDoes},
    ForeignFlag{"--no-repack -nr --repack", kLlama, kNone, kIgnored, "",
                "whether weights are packed anew", kAlwaysDone},
    ForeignFlag{"--check-tensors", kLlama, kNone, kIgnored, "", "checks the file", kAlwaysDone},
    ForeignFlag{"-dt --defrag-thold", kLlama, kOne, kIgnored, "", "when the cache is tidied",
                "skald's cache has pages"},
    ForeignFlag{"--kv-unified -kvu --swa-full", kLlama, kNone, kIgnored, "", "how the cache lies",
                "skald's cache has pages"},
    ForeignFlag{"--swap-space --block-size --cpu-offload-gb", kVllm, kOne, kIgnored, "",
                "how the cache lies", "skald's cache has pages in memory"},
    ForeignFlag{
        "--keep", kLlama, kOne, kIgnored, "", "what a shifted context keeps",
        "skald never shifts: --endless N,WINDOW keeps the first N tokens and the last WINDOW"},
    ForeignFlag{"--no-context-shift", kLlama, kNone, kIgnored, "", "an end at the full context",
                kAlwaysDone},
    ForeignFlag{"--context-shift", kLlama, kNone, kRefused, "", "text beyond the context",
                "type: --endless SINKS,WINDOW, which computes nothing again"},
    ForeignFlag{"--warmup --no-warmup --perf --no-perf --simple-io --no-escape", kLlama, kNone,
                kIgnored, "", "about start and output", "nothing to turn on or off"},
    ForeignFlag{"--prompt-cache", kLlama, kOne, kIgnored, "", "a file of computed prompts",
                "skald run keeps none; --cache-dir of skald serve does"},
    ForeignFlag{"--prompt-cache-all --prompt-cache-ro", kLlama, kNone, kIgnored, "",
                "about a file of computed prompts", "skald run keeps none"},

    // Conversations.
    ForeignFlag{"-cnv --conversation -i --interactive -if --interactive-first -ins --instruct",
                kLlama, kNone, kIgnored, "", "a conversation", "that is this command", "chat"},
    ForeignFlag{"-cnv --conversation -i --interactive -if --interactive-first -ins --instruct",
                kLlama, kNone, kRefused, "", "a conversation", "type: skald chat -m MODEL"},
    ForeignFlag{"-no-cnv --no-conversation -st --single-turn", kLlama, kNone, kRefused, "",
                "no conversation", "type: skald run -m MODEL PROMPT", "chat"},
    ForeignFlag{"-no-cnv --no-conversation -st --single-turn", kLlama, kNone, kIgnored, "",
                "no conversation", "that is what skald run does"},
    ForeignFlag{"-sysf --system-prompt-file", kLlama, kOne, kRefused, "", "the system text's file",
                "type: --system \"$(cat FILE)\", with skald chat"},
    ForeignFlag{"--jinja", kLlama, kNone, kIgnored, "", "runs the model's chat template",
                kAlwaysDone},
    ForeignFlag{"--no-jinja", kLlama, kNone, kRefused, "", "a built-in chat template", kAsInFile},
    ForeignFlag{"--chat-template --chat-template-file", kLlama, kOne, kRefused, "",
                "another chat template", kAsInFile},
    ForeignFlag{"--chat-template-kwargs", kLlama, kOne, kRefused, "", "variables of the template",
                "--think of skald chat, or a field of the server's request"},
    ForeignFlag{"--reasoning-budget", kLlama, kOne, kRefused, "-1", "how long a model thinks",
                "type: skald chat --think on, or off"},
    ForeignFlag{"--reasoning-format --reasoning-parser", kLlama, kOne, kIgnored, "",
                "tells thoughts from the answer", kAsTemplate, "serve"},
    ForeignFlag{"--reasoning-format --reasoning-parser", kLlama, kOne, kRefused, "none",
                "cuts thoughts from the answer", "skald gives the text as it comes"},
    ForeignFlag{"--hidethinking", kOllama, kNone, kRefused, "", "cuts thoughts from the answer",
                "type: skald chat --think off"},
    ForeignFlag{"--in-prefix --in-suffix", kLlama, kOne, kRefused, "", "text around what is typed",
                kAsInFile},
    ForeignFlag{"-mli --multiline-input", kLlama, kNone, kRefused, "", "texts of several lines",
                "skald chat takes them between \"\"\" and \"\"\", and pasted"},

    // What would change the text.
    ForeignFlag{"--adaptive-target --adaptive-decay --tfs", kLlama, kOne, kRefused, "",
                "a setting of a sampler", kNoSuchSampling},
    ForeignFlag{"--samplers --sampling-seq --sampler-seq", kLlama, kOne, kRefused, "",
                "the order of the samplers", "type: --sampling-order standard or llama.cpp"},
    ForeignFlag{"-l", kLlama, kOne, kRefused, "", "a bias, ID+BIAS", "type: --logit-bias ID=BIAS"},
    ForeignFlag{"-e --escape", kLlama, kNone, kRefused, "", "reads \\n in a prompt as a new line",
                "skald takes it literally; the shell can do it: $'one\\ntwo'"},
    ForeignFlag{"-sp", kLlama, kNone, kRefused, "", "shows control tokens",
                "skald tokenize shows them; --special lets the prompt spell them"},
    ForeignFlag{"--verbose-prompt", kLlama, kNone, kRefused, "", "shows the prompt's tokens",
                "type: skald tokenize"},
    ForeignFlag{"-jf --json-schema-file", kLlama, kOne, kOurs, "--json-schema",
                "text of a given form", ""},
    ForeignFlag{"--format", kOllama, kOne, kRefused, "", "text of a given form", kNoConstraint},
    ForeignFlag{"--guided-decoding-backend --structured-outputs-config", kVllm, kOne, kRefused, "",
                "text of a given form", "skald has one way"},
    ForeignFlag{"--rope-freq-scale", kLlama, kOne, kRefused, "", "a longer context",
                "type: --rope-scale X, one divided by that number"},
    ForeignFlag{"--override-kv", kLlama, kOne, kRefused, "", "other metadata than the file's",
                kAsInFile},
    ForeignFlag{"-gan --grp-attn-n -gaw --grp-attn-w", kLlama, kOne, kRefused, "1",
                "self-extend, a longer context", "skald has the model's"},
    ForeignFlag{"--lora --lora-scaled --lora-modules --control-vector", kLlama, kOne, kRefused, "",
                "an adapter", "merge it into the model file first"},
    ForeignFlag{"--enable-lora", kVllm, kNone, kRefused, "", "adapters",
                "merge them into the model file first"},
    ForeignFlag{"--dtype", kVllm, kOne, kIgnored, "auto", "the type of the arithmetic",
                "skald has one (docs/numerics.md)"},
    ForeignFlag{"--quantization", kVllm, kOne, kRefused, "", "packs the weights otherwise",
                kAsInFile},

    // Pictures, sound.
    ForeignFlag{"-mm --mmproj --mmproj-url --image --audio", kLlama, kOne, kRefused, "",
                "pictures or sound", kTextOnly},

    // Where models come from.
    ForeignFlag{"-hf -hfr --hf-repo -mu --model-url", kLlama, kOne, kOurs, "--model",
                "a model from Hugging Face or an address"},
    ForeignFlag{"-hfd -hfrd --hf-repo-draft", kLlama, kOne, kOurs, "--draft",
                "a draft model from Hugging Face"},
    ForeignFlag{"-hff --hf-file", kLlama, kOne, kRefused, "", "a file of the repository",
                "type: -m hf://OWNER/NAME:FILE"},
    ForeignFlag{"-dr --docker-repo", kLlama, kOne, kRefused, "", "a model from Docker's hub",
                "skald pulls from Hugging Face and from addresses"},
    ForeignFlag{"-hft --hf-token", kLlama, kOne, kRefused, "", "a secret",
                "all users of the machine see a command line: set HF_TOKEN"},
    ForeignFlag{"--revision", kVllm, kOne, kRefused, "", "a branch or commit",
                "type: -m hf://OWNER/NAME@REVISION"},
    ForeignFlag{"--download-dir", kVllm, kOne, kRefused, "", "where models are kept",
                "set HF_HUB_CACHE"},
    ForeignFlag{"--load-format", kVllm, kOne, kRefused, "auto", "the format of the file",
                "skald sees it: GGUF or safetensors"},
    ForeignFlag{"--offline", kLlama, kNone, kRefused, "", "no use of the network",
                "set HF_HUB_OFFLINE=1"},
    ForeignFlag{"--tokenizer --hf-config-path --generation-config", kVllm, kOne, kRefused, "",
                "another description of the model", kAsInFile},
    ForeignFlag{"--trust-remote-code", kVllm, kNone, kIgnored, "", "runs a model's own program",
                "skald never does"},
    ForeignFlag{"--insecure", kOllama, kNone, kRefused, "", "fetches without encryption",
                "an http:// address says so itself"},
    ForeignFlag{"--keepalive", kOllama, kOne, kIgnored, "", "how long a model stays loaded",
                "a model lives as long as its command"},

    // The server.
    ForeignFlag{"--api-key", kLlama, kOne, kRefused, "", "a key",
                "all users of the machine see a command line: --api-key-file FILE of skald serve"},
    ForeignFlag{"-cb --cont-batching --enable-prefix-caching --enable-chunked-prefill", kLlama,
                kNone, kIgnored, "", "batching and sharing", kAlwaysDone},
    ForeignFlag{"-nocb --no-cont-batching --no-enable-prefix-caching --no-cache-prompt", kLlama,
                kNone, kIgnored, "", "no batching or sharing",
                "it is always on and changes no answer"},
    ForeignFlag{"--cache-prompt --metrics --slots --props --embedding --embeddings --rerank "
                "--reranking",
                kLlama, kNone, kIgnored, "", "a route or a cache", kAlwaysThere},
    ForeignFlag{"--no-webui --no-slots", kLlama, kNone, kIgnored, "", "leaves something out",
                "the console and /slots cost nothing while nobody looks"},
    ForeignFlag{"--cache-reuse --cache-ram -cram -sps --slot-prompt-similarity --threads-http",
                kLlama, kOne, kIgnored, "", "about the server's cache or threads",
                "skald shares all prefixes, to the token"},
    ForeignFlag{"--path --media-path --public-path", kLlama, kOne, kRefused, "",
                "files for clients", "skald's server touches none"},
    ForeignFlag{"--slot-save-path", kLlama, kOne, kRefused, "", "a folder for computed prompts",
                "type: --cache-dir DIR, with skald serve"},
    ForeignFlag{"--ssl-key-file --ssl-cert-file --ssl-keyfile --ssl-certfile --api-prefix "
                "--root-path --allowed-origins",
                kLlama, kOne, kRefused, "", "what stands before a server", kUseProxy},
    ForeignFlag{"-to --timeout", kLlama, kOne, kIgnored, "", "how long a client may take",
                "skald's bounds are in docs/server.md"},
    ForeignFlag{"--tool-call-parser", kVllm, kOne, kIgnored, "", "how calls of tools are written",
                kAsTemplate},
    ForeignFlag{"--enable-auto-tool-choice", kVllm, kNone, kIgnored, "", "calls of tools",
                kAlwaysThere},
    ForeignFlag{"--speculative-config", kVllm, kOne, kRefused, "", "how tokens are guessed",
                "type: --spec ngram, or --draft MODEL"},
    ForeignFlag{"--disable-log-requests --no-enable-log-requests --disable-log-stats", kVllm, kNone,
                kIgnored, "", "fewer lines", "skald writes no prompts down; -q writes nothing"},
    ForeignFlag{"--uvicorn-log-level --log-level -lv --verbosity", kVllm, kOne, kIgnored, "",
                "how much to say", "type: -q or --verbose"},
    ForeignFlag{"--log-disable --log-colors --log-prefix --log-timestamps", kLlama, kNone, kIgnored,
                "", "about messages", "type: -q for none"},
    ForeignFlag{"--log-file", kLlama, kOne, kRefused, "", "the file of messages", "type: 2> FILE"},
};

constexpr std::array kVerbs = {
    ForeignVerb{"list", "skald ls lists models"},
    ForeignVerb{"push", "skald publishes nothing"},
    ForeignVerb{"cp", "a model is a file: skald ls shows where"},
    ForeignVerb{"create", "skald loads GGUF files as they are"},
    ForeignVerb{"ps", "there is no background process; skald serve answers GET /slots"},
    ForeignVerb{"stop", "there is no background process"},
    ForeignVerb{"cli", "skald run generates, skald chat converses"},
    ForeignVerb{"complete", "skald run generates"},
    ForeignVerb{"generate", "skald run generates"},
    ForeignVerb{"server", "skald serve is the server"},
    ForeignVerb{"help", "skald --help, and skald VERB --help"},
    ForeignVerb{"version", "skald --version"},
};

// --- taking a line apart ---

bool HasName(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::string_view first = names.substr(0, names.find(' '));
    if (first == name) return true;
    names.remove_prefix(std::min(names.size(), first.size() + 1));
  }
  return false;
}

const ForeignFlag* FindForeign(std::string_view name, std::string_view verb) {
  const auto* row = std::find_if(kFlags.begin(), kFlags.end(), [&](const ForeignFlag& flag) {
    return HasName(flag.names, name) && (flag.verb.empty() || flag.verb == verb);
  });
  return row == kFlags.end() ? nullptr : row;
}

const CLI::Option* FindOwn(const CLI::App& verb, std::string_view name) {
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& known : option->get_lnames())
      if (name.starts_with("--") && name.substr(2) == known) return option;
    for (const std::string& known : option->get_snames())
      if (name.size() == 2 && name.substr(1) == known) return option;
  }
  return nullptr;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool IsSwitchWord(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"on",  "off", "auto", "true", "false",
                                                      "yes", "no",  "0",    "1"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

Status Usage(const CLI::App& verb, const std::string& problem) {
  const std::string name = verb.get_parent() == nullptr ? "skald" : "skald " + verb.get_name();
  return Status(ErrorCode::kInvalidArgument, fmt::format("{} (see {} --help)", problem, name));
}

Status UnknownFlag(const CLI::App& verb, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& own : option->get_lnames()) known.push_back("--" + own);
    for (const std::string& own : option->get_snames()) known.push_back("-" + own);
  }
  // "-temp" is --temp, more likely than any letter.
  if (FindOwn(verb, "-" + name) != nullptr)
    return Usage(verb, fmt::format("unknown flag '{0}'; did you mean -{0}?", name));
  const std::string nearest = Nearest(name, known);
  return Usage(verb, nearest.empty()
                         ? fmt::format("unknown flag '{}'", name)
                         : fmt::format("unknown flag '{}'; did you mean {}?", name, nearest));
}

// "-n5", "-c.5", "-m/path": a letter and its value in one. A letter behind the flag's would be a
// guess: "-ngl" is not "-n gl".
bool IsLetterWithValue(const CLI::App& verb, std::string_view argument) {
  const CLI::Option* option = FindOwn(verb, argument.substr(0, 2));
  if (option == nullptr || !TakesValue(*option)) return false;
  const char first = argument[2];
  return (first >= '0' && first <= '9') ||
         std::string_view("-+./=").find(first) != std::string::npos;
}

// "-qh": several letters that take nothing.
bool IsLetters(const CLI::App& verb, std::string_view argument) {
  return std::all_of(argument.begin() + 1, argument.end(), [&](char letter) {
    const CLI::Option* option = FindOwn(verb, std::string{'-', letter});
    return option != nullptr && !TakesValue(*option);
  });
}

// What --kv-type calls a type that others call `word`.
std::string KvTypeWord(const std::string& word) {
  if (word == "float16" || word == "half") return "f16";
  if (word == "bfloat16") return "bf16";
  if (word == "q8_0") return "q8";
  if (word == "q4_0") return "q4";
  return word;
}

// Walks over a line and writes down what it becomes.
class Resolver {
 public:
  Resolver(const CLI::App& verb, std::span<const std::string> arguments)
      : verb_(verb), rest_(arguments) {}

  Result<ResolvedLine> Run() {
    while (!rest_.empty()) {
      const std::string argument = Take();
      if (argument == "--") {
        line_.arguments.push_back(argument);
        while (!rest_.empty()) line_.arguments.push_back(Take());
      } else if (argument.size() < 2 || argument.front() != '-') {
        line_.arguments.push_back(argument);
      } else {
        RETURN_IF_ERROR(TakeFlag(argument));
      }
    }
    return std::move(line_);
  }

 private:
  std::string Take() {
    std::string first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

  Status TakeFlag(const std::string& argument) {
    const size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    // vLLM and Ollama write both; a name of ours has no underscore.
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    const std::string tail = equals == std::string::npos ? "" : argument.substr(equals);
    if (const CLI::Option* own = FindOwn(verb_, name)) {
      line_.arguments.push_back(name + tail);
      if (TakesValue(*own) && tail.empty() && !rest_.empty()) line_.arguments.push_back(Take());
      return Ok();
    }
    if (const ForeignFlag* flag = FindForeign(name, verb_.get_name()))
      return TakeForeign(*flag, name, tail);
    const bool letters = name.size() > 2 && name[1] != '-' &&
                         (IsLetterWithValue(verb_, argument) || IsLetters(verb_, argument));
    if (!letters) return UnknownFlag(verb_, argument.substr(0, equals));
    line_.arguments.push_back(argument);
    return Ok();
  }

  Status TakeForeign(const ForeignFlag& flag, const std::string& name, const std::string& tail) {
    std::string value = tail.empty() ? tail : tail.substr(1);
    if (tail.empty() && flag.value == kOne) {
      if (rest_.empty()) return Usage(verb_, name + " needs a value");
      value = Take();
    } else if (tail.empty() && flag.value == kMaybe && !rest_.empty() &&
               IsSwitchWord(rest_.front())) {
      value = Take();
    } else if (!tail.empty() && flag.value == kNone) {
      return Usage(verb_, name + " takes no value");
    }
    if (flag.answer == kOurs) return Translate(flag, name, value);
    if (!flag.ours.empty() && value == flag.ours) return Ok();
    const std::string sentence =
        fmt::format("{} of {} ({}): {}", name, flag.from, flag.there, flag.here);
    if (flag.answer == kRefused) return Usage(verb_, sentence);
    line_.notes.push_back(sentence);
    return Ok();
  }

  Status Translate(const ForeignFlag& flag, const std::string& name, const std::string& given) {
    const std::string ours(flag.ours);
    if (FindOwn(verb_, ours) == nullptr)
      return Usage(verb_, fmt::format("{} of {} ({}) is {} in skald, which this verb does not take",
                                      name, flag.from, flag.there, ours));
    std::string value = given;
    if (ours == "--kv-type") {
      if (value == "auto") return Ok();
      value = KvTypesAfter(flag, KvTypeWord(value));
    }
    line_.arguments.push_back(ours);
    if (flag.value != kNone) line_.arguments.push_back(value);
    return Ok();
  }

  // What --kv-type is after a flag of another program: -ctk and -ctv say half of it each, and what
  // they leave open is f16 there as here.
  std::string KvTypesAfter(const ForeignFlag& flag, const std::string& word) {
    if (flag.there != kTypeOfV) keys_ = word;
    if (flag.there != kTypeOfK) values_ = word;
    return keys_ == values_ ? keys_ : keys_ + "," + values_;
  }

  const CLI::App& verb_;
  std::span<const std::string> rest_;
  ResolvedLine line_;
  std::string keys_ = "f16";
  std::string values_ = "f16";
};

}  // namespace

std::span<const ForeignFlag> ForeignFlags() { return kFlags; }

std::span<const ForeignVerb> ForeignVerbs() { return kVerbs; }

Result<ResolvedLine> ResolveFlags(const CLI::App& verb, std::span<const std::string> arguments) {
  return Resolver(verb, arguments).Run();
}

}  // namespace skald::cli
