#include "text/pre_tokenizer_rules.h"

#include <algorithm>
#include <string>

namespace skald::text {

namespace {

// The patterns as published, except that characters beyond ASCII are written \x{...}, and that some
// are bounded in a way that changes no match. Each such place has its reason: without it a text of
// one repeated character costs time quadratic in its length, or a stack as deep as it is long.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p)"
    R"({N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpmPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The phrase is possessive (published: a group in a group, with * and +): nothing follows it that
// could want a part of it back, and its way back would be as long as the text.
constexpr std::string_view kExaoneMoePattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}(?:\p{M}| ?\p{L})*+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
// The newlines after spaces are looked for only where a run of white space begins, or behind a
// newline: published without that condition. A piece that ends inside such a run was cut because
// no newline follows in it, and looking again from each piece would be quadratic.
constexpr std::string_view kJais2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|(?:(?<!\s)|(?<=[\r\n]))\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S))"
    R"(|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"
    R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-)"
    R"(\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC})"
    R"(\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3})"
    R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-)"
    R"(\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
// Published as \s+$. From the second space of a run on the answer is that of the first, so a run
// that does not end the piece is skipped as a whole.
constexpr std::string_view kSpaceAtTheEnd = R"(\s++(?:$|(*SKIP)(*FAIL)))";
constexpr std::string_view kDeepseekCjk =
    R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kDeepseekV3Cjk =
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kDeepseekV3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\)"
    R"(p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[)"
    R"(^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p)"
    R"({N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?)"
    R"(i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L})"
    R"(\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019})"
    R"(\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+)"
    R"(|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kYoutuPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?)"
    R"(i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L})"
    R"(\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Published with intersections: [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{sc:Han}]] and the same with Ll
// in place of Lu and Lt. PCRE2 has none: they are written as all that they leave out. sc: is the
// property Script, which \p{Han} means elsewhere; here it would be Script_Extensions.
constexpr std::string_view kKimiPattern =
    R"(\p{sc:Han}+|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*)"
    R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+)"
    R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The third range begins at U+8C48 (published as a letter that normalization has changed from
// U+F900, where the block of compatibility ideographs begins).
constexpr std::string_view kAfmoeScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
    R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
// Published as \d{1,3}(?=(?:\d{3})*\b), which looks to the end of the run from each three: the run
// as a whole if a word ends with it, cut by Cut::kThreesFromRight.
constexpr std::string_view kDigitsThatEndAWord =
    R"(\p{Nd}++(?:(?![\p{L}\p{M}\p{Nd}\p{Pc}])|(*SKIP)(*FAIL)))";
constexpr std::string_view kBloomPattern =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
// Qwen's with ASCII letters only after the apostrophe.
constexpr std::string_view kLagunaPattern =
    R"('(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLinesPattern = R"([^\n]+|[\n]+)";
constexpr std::string_view kOneDigitPattern = R"(\p{N})";
constexpr std::string_view kThreeDigitsPattern = "[0-9][0-9][0-9]";

constexpr SplitStage kAfmoe[] = {
    {R"(\p{N}+)", Cut::kAfterThrees}, {kAfmoeScripts}, {kDeepseekV3Pattern}};
constexpr SplitStage kBailing[] = {{kBailingPattern}};
constexpr SplitStage kBloom[] = {{kBloomPattern}};
constexpr SplitStage kChameleon[] = {{"<sentinel:[0-9]+>"},       {"IMGIMG[A-I]{1,4}Z"},
                                     {R"([\t\n]|    |  )"},       {kOneDigitPattern},
                                     {R"([\p{P}!-/:-@\[-`{-~])"}, {kGpt2Pattern}};
constexpr SplitStage kDefault[] = {
    {R"([\p{P}\$\+<=>\^~\|]+)"}, {kGpt2Pattern}, {R"(\p{N}+)"}, {kThreeDigitsPattern}};
constexpr SplitStage kDeepseekCoder[] = {
    {R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {kDeepseekCjk}, {kOneDigitPattern}};
constexpr SplitStage kDeepseekLlm[] = {{R"([\r\n])"},    {kDeepseekLetters}, {kDeepseekPunctuation},
                                       {kSpaceAtTheEnd}, {kDeepseekCjk},     {R"(\p{N}+)"}};
constexpr SplitStage kDeepseekV3[] = {{R"(\p{N}{1,3})"}, {kDeepseekV3Cjk}, {kDeepseekV3Pattern}};
constexpr SplitStage kExaoneMoe[] = {{kExaoneMoePattern}};
constexpr SplitStage kFalcon[] = {
    {R"([\p{P}\$\+<=>\^~\|`]+)"}, {kGpt2Pattern}, {kThreeDigitsPattern}};
constexpr SplitStage kGpt2[] = {{kGpt2Pattern}};
constexpr SplitStage kGpt4o[] = {{kGpt4oPattern}};
constexpr SplitStage kJais2[] = {{kJais2Pattern}};
constexpr SplitStage kKimi[] = {{kKimiPattern}};
constexpr SplitStage kLaguna[] = {{kLinesPattern}, {kLagunaPattern}};
constexpr SplitStage kLines[] = {{kLinesPattern}};
constexpr SplitStage kLlama3[] = {{kLlama3Pattern}};
constexpr SplitStage kMiniCpm[] = {{R"(\p{N}{1,3})"}, {kMiniCpmPattern}};
constexpr SplitStage kQwen2[] = {{kQwen2Pattern}};
constexpr SplitStage kQwen35[] = {{kQwen35Pattern}};
constexpr SplitStage kSeed[] = {{kSeedPattern}};
constexpr SplitStage kSmollm[] = {{kOneDigitPattern}, {kGpt2Pattern}};
constexpr SplitStage kSuperBpe[] = {{R"(\p{N}+)"}, {R"(\p{Nd}+)", Cut::kBeforeThrees}};
constexpr SplitStage kTekken[] = {{kTekkenPattern}};
constexpr SplitStage kTinyAya[] = {{kDigitsThatEndAWord, Cut::kThreesFromRight}, {kGpt4oPattern}};
constexpr SplitStage kViking[] = {{kBloomPattern}, {kOneDigitPattern}};
constexpr SplitStage kYoutu[] = {{kYoutuScripts}, {kYoutuPattern}};

// Names as llama.cpp's converter writes them (llama-vocab.cpp, llama_vocab::impl::load).
constexpr PreTokenizerRule kRules[] = {
    {.name = "default", .stages = kDefault},
    {.name = "a.x-4.0", .stages = kGpt2},
    {.name = "afmoe", .stages = kAfmoe},
    {.name = "bailingmoe", .stages = kBailing},
    {.name = "bailingmoe2", .stages = kBailing},
    {.name = "bloom", .stages = kBloom},
    {.name = "chameleon", .stages = kChameleon, .adds_bos = true},
    {.name = "chatglm-bpe", .stages = kLlama3},
    {.name = "codeshell", .stages = kSmollm},
    {.name = "cohere2moe", .stages = kTinyAya},
    {.name = "command-r", .stages = kSmollm},
    {.name = "dbrx", .stages = kLlama3},
    {.name = "deepseek-coder", .stages = kDeepseekCoder},
    {.name = "deepseek-llm", .stages = kDeepseekLlm},
    {.name = "deepseek-r1-qwen", .stages = kQwen2},
    {.name = "deepseek-v3", .stages = kDeepseekV3},
    {.name = "exaone", .stages = kSmollm},
    {.name = "exaone-moe", .stages = kExaoneMoe},
    {.name = "exaone4", .stages = kGpt2},
    {.name = "f2llmv2", .stages = kQwen2},
    {.name = "falcon", .stages = kFalcon},
    {.name = "falcon-h1",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "falcon3",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "gemma4",
     .stages = kLines,
     .whole_pieces = WholePieces::kTakeNewlines,
     .alphabet = Alphabet::kCharacters,
     .adds_bos = true},
    {.name = "gigachat", .stages = kGpt2},
    {.name = "glm4", .stages = kLlama3},
    {.name = "gpt-2", .stages = kGpt2},
    {.name = "gpt-4o", .stages = kGpt4o},
    {.name = "gpt3-finnish", .stages = kBloom},
    {.name = "granite-docling", .stages = kGpt2},
    {.name = "granite-embed-multi-311m",
     .stages = kLines,
     .whole_pieces = WholePieces::kTakeNewlines,
     .alphabet = Alphabet::kCharacters,
     .adds_bos = true},
    {.name = "granite-embed-multi-97m", .stages = kGpt4o, .whole_pieces = WholePieces::kTakeWhole},
    {.name = "grok-2", .stages = kQwen2},
    {.name = "hunyuan", .stages = kQwen2},
    {.name = "hunyuan-dense", .stages = kDeepseekV3},
    {.name = "jais", .stages = kGpt2},
    {.name = "jais-2", .stages = kJais2},
    {.name = "jina-de", .stages = kGpt2},
    {.name = "jina-es", .stages = kGpt2},
    {.name = "jina-v1-en", .stages = kGpt2},
    {.name = "jina-v2-code", .stages = kGpt2},
    {.name = "jina-v2-de", .stages = kGpt2},
    {.name = "jina-v2-es", .stages = kGpt2},
    {.name = "jina-v5-nano",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "joyai-llm", .stages = kDeepseekV3},
    {.name = "kanana2", .stages = kGpt4o},
    {.name = "kimi-k2", .stages = kKimi},
    {.name = "kormo", .stages = kQwen2},
    {.name = "laguna", .stages = kLaguna},
    {.name = "lfm2", .stages = kLlama3, .whole_pieces = WholePieces::kTakeWhole, .adds_bos = true},
    {.name = "llada-moe", .stages = kBailing},
    {.name = "llama-bpe",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "llama-v3",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "llama3",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "llama4", .stages = kGpt4o},
    {.name = "megrez", .stages = kQwen2},
    {.name = "mellum", .stages = kGpt2},
    {.name = "mellum2", .stages = kSmollm},
    {.name = "midm-2.0",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "minerva-7b", .stages = kSmollm},
    {.name = "minicpm5", .stages = kMiniCpm, .whole_pieces = WholePieces::kTakeWhole},
    {.name = "minimax-m2", .stages = kGpt4o},
    {.name = "modern-bert", .stages = kGpt2},
    {.name = "mpt", .stages = kGpt2},
    {.name = "olmo", .stages = kGpt2, .normalization = Normalization::kC},
    {.name = "phi-2", .stages = kGpt2},
    {.name = "pixtral",
     .stages = kLlama3,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "poro-chat", .stages = kBloom},
    {.name = "qwen2", .stages = kQwen2, .normalization = Normalization::kC},
    {.name = "qwen35", .stages = kQwen35, .normalization = Normalization::kC},
    {.name = "refact", .stages = kSmollm},
    {.name = "roberta-bpe", .stages = kGpt2},
    {.name = "sarvam-moe", .stages = kLines, .alphabet = Alphabet::kCharacters},
    {.name = "seed-coder", .stages = kSeed},
    {.name = "smaug-bpe", .stages = kLlama3},
    {.name = "smollm", .stages = kSmollm},
    {.name = "solar-open", .stages = kQwen2},
    {.name = "stablelm2", .stages = kQwen2},
    {.name = "starcoder", .stages = kSmollm},
    {.name = "superbpe", .stages = kSuperBpe},
    {.name = "talkie", .stages = kGpt4o},
    {.name = "tekken",
     .stages = kTekken,
     .whole_pieces = WholePieces::kTakeWhole,
     .adds_bos = true},
    {.name = "tiny_aya", .stages = kTinyAya},
    {.name = "trillion", .stages = kGpt2},
    {.name = "viking", .stages = kViking},
    {.name = "youtu", .stages = kYoutu, .whole_pieces = WholePieces::kTakeWhole},
};

Status UnknownName(std::string_view name) {
  std::string known;
  for (const PreTokenizerRule& rule : kRules) {
    known += (known.empty() ? "" : ", ") + std::string(rule.name);
  }
  return Status(ErrorCode::kUnsupported, "pre-tokenizer '" + std::string(name.substr(0, 64)) +
                                             "' is not known; known are " + known);
}

}  // namespace

Result<const PreTokenizerRule*> FindPreTokenizerRule(std::string_view name) {
  if (name.empty()) return &kRules[0];
  const auto found = std::find_if(std::begin(kRules), std::end(kRules),
                                  [name](const auto& rule) { return rule.name == name; });
  if (found == std::end(kRules)) return UnknownName(name);
  return found;
}

std::span<const PreTokenizerRule> PreTokenizerRules() { return kRules; }

}  // namespace skald::text
