/// Tokenizer, StreamDecoder, StopMatcher: text to token ids, ids to text, and where to stop.
///
/// A Tokenizer is immutable after creation and holds no scratch state, so one object serves any
/// number of threads without locking. It never turns text into a control token (the markers of a
/// chat template, the beginning and end of a sequence) unless the caller asks for it: what a user
/// typed stays text.
///
/// Five kinds are implemented: "llama" (SentencePiece BPE with byte fallback), "gpt2" (byte-level
/// BPE behind a pre-tokenizer), "gemma4" (BPE on whole lines), "t5" (Unigram) and "bert"
/// (WordPiece). They give the ids that the publishers' rules give, recorded for hundreds of texts.
/// Each takes time O(n log n) in the length of the text, whatever the text.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/version.h"

namespace skald {

namespace text {
struct TokenizerSpec;  // src/text/tokenizer_spec.h: the content of a model file's tokenizer keys
class ByteAutomaton;   // src/text/byte_automaton.h
}  // namespace text

/// What Encode does with text that spells a control token, such as "<|im_end|>".
enum class SpecialTokens : uint8_t {
  kAsText,  ///< It is text like any other. The right choice for everything a user wrote.
  kParse,   ///< It becomes the control token. Only for text written by a template or a developer.
};

/// Whether Encode puts the model's BOS in front and its EOS behind.
enum class BoundaryTokens : uint8_t {
  kAsModel,  ///< As the model file says (add_bos(), add_eos()). The right choice for a raw prompt.
  kNone,     ///< Neither: for fragments, and for rendered templates that spell their own BOS.
};

struct EncodeOptions {
  SpecialTokens special = SpecialTokens::kAsText;
  BoundaryTokens boundary = BoundaryTokens::kAsModel;
  StopCheck stop = {};
};

/// Bytes `begin` to `end` (not included) of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// Whether decoded text shows control and unknown tokens ("<s>", "<|eot_id|>").
enum class ControlTokens : uint8_t { kHide, kShow };

/// Where the decoded tokens stand. SentencePiece models put a space before the first word of a
/// text; decoding from the start of a sequence takes it away again, decoding the continuation of
/// a prompt must not.
enum class DecodeFrom : uint8_t {
  kStart,         ///< The first token (or the first after BOS) begins the sequence.
  kContinuation,  ///< Tokens stand before these: every byte is kept.
};

/// What a StreamDecoder shows of a control token in the place of nothing.
struct TokenMark {
  TokenId token = kNoToken;
  std::string bytes;
};

/// The tokens with which a model was trained to fill a gap in a text ("fill in the middle"). A
/// prompt is prefix, the text before the gap, suffix, the text behind it, middle.
struct FillTokens {
  TokenId prefix = kNoToken;
  TokenId suffix = kNoToken;
  TokenId middle = kNoToken;
  TokenId repository = kNoToken;  ///< before the name of a repository, where the model has it
  TokenId file = kNoToken;        ///< before the name of a file, where the model has it

  friend bool operator==(const FillTokens&, const FillTokens&) = default;
};

/// A text under a name: another file of the same project.
struct NamedText {
  std::string name;
  std::string text;
};

/// A text with a gap, and what a model may look at beside it.
struct GapText {
  std::string_view before;
  std::string_view behind;
  std::span<const NamedText> files = {};  ///< what is nearest to the gap comes last
  /// Of all tokens together. The first of the files are left out, whole, where it would be more.
  int64_t max_tokens = std::numeric_limits<int64_t>::max();
};

/// A pair of texts as tokens, for a model that ranks.
struct PairTokens {
  std::vector<TokenId> tokens;
  int64_t second_text = 0;  ///< where the second begins, what stands between the two before it
};

struct DecodeOptions {
  ControlTokens control = ControlTokens::kHide;
  DecodeFrom from = DecodeFrom::kStart;
  /// For readers that must see structure (ChatAnswerReader). Of a StreamDecoder only.
  std::vector<TokenMark> marks = {};
};

/// The kinds of token, with the numbers of the GGUF key tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kNormal = 1,       ///< Text.
  kUnknown = 2,      ///< Stands for text the vocabulary cannot spell.
  kControl = 3,      ///< Structure, not text: BOS, end of turn. Hidden when decoding.
  kUserDefined = 4,  ///< Text that is always matched whole, before anything else.
  kUnused = 5,       ///< Padding of the vocabulary. Treated as normal.
  kByte = 6,         ///< One byte of a character that has no token ("<0x0A>").
};

/// Text to token ids and back, for one vocabulary. Move-only; thread-safe for const use.
class Tokenizer {
 public:
  /// Builds a tokenizer from the content of a model file. `spec` and what it points to may be freed
  /// afterwards. Time O(n log n) in the bytes of tokens and merges: about 0.1 s for 128 k tokens
  /// and 280 k merges. Errors: kBadModel with the token, merge or key that is wrong; kUnsupported
  /// for a tokenizer model or pre-tokenizer skald does not implement, with the list of those it
  /// does.
  static Result<Tokenizer> Create(const text::TokenizerSpec& spec);

  ~Tokenizer();
  Tokenizer(Tokenizer&& other) noexcept;
  Tokenizer& operator=(Tokenizer&& other) noexcept;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of `text`, which may be any bytes (invalid UTF-8 is encoded byte by byte).
  /// DecodeBytes of the result is `text` again, if the vocabulary has tokens for all its bytes
  /// (docs/decisions/0012 says what else becomes of them); for "llama" models with a space prefix,
  /// provided the text has no user-defined or parsed control token inside (each is followed by one
  /// more space) and no U+2581 (it comes back as a space). "t5" and "bert" models normalize the
  /// text, some "gpt2" models compose it (docs/decisions/0015), and that is what comes back.
  /// Errors: kInvalidArgument if the text is longer than kMaxTextBytes; kCancelled if options.stop
  /// said so.
  Result<std::vector<TokenId>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  /// Encode of a text that several hands wrote. A control token is parsed where its whole spelling
  /// lies inside one of `control_ranges` (ascending, disjoint, not adjacent, inside the text); all
  /// other bytes are text, as with kAsText, and form tokens over the borders of ranges as if the
  /// text between two control tokens were encoded whole. One range of everything is kParse, none at
  /// all is kAsText. Errors as Encode.
  Result<std::vector<TokenId>> EncodeMixed(std::string_view text,
                                           std::span<const TextRange> control_ranges,
                                           BoundaryTokens boundary, StopCheck stop = {}) const;

  /// The tokens of two texts as models that read pairs were trained: "[CLS] first [SEP] second
  /// [SEP]", in vocabularies like RoBERTa's (whose BOS is "<s>", or whose file says add_sep_token)
  /// "<s> first </s></s> second </s>". Marks that the model does not put around one text are left
  /// out. Errors as Encode.
  Result<PairTokens> EncodePair(std::string_view first, std::string_view second,
                                StopCheck stop = {}) const;

  /// Longest text Encode takes: positions are 32-bit numbers inside, and no context is this long.
  static constexpr int64_t kMaxTextBytes = int64_t{1} << 30;

  /// The exact bytes of a token sequence; may be invalid UTF-8 where the tokens spell such. An id
  /// outside the vocabulary adds nothing (models pad their vocabulary).
  std::string DecodeBytes(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  /// DecodeBytes as valid UTF-8: each maximal ill-formed sequence becomes one U+FFFD, as web
  /// browsers do (WHATWG Encoding, "utf-8 decode"). What StreamDecoder gives in pieces.
  std::string Decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  /// Number of tokens; valid ids are 0 <= id < vocab_size().
  int64_t vocab_size() const;
  bool Contains(TokenId id) const { return id >= 0 && id < vocab_size(); }

  /// The bytes `id` adds to a text, control tokens by their name. Empty if outside the vocabulary.
  /// Valid as long as the tokenizer.
  std::string_view TokenBytes(TokenId id) const;
  /// TokenBytes for a line of a terminal or log: printable ASCII and valid UTF-8 letters as they
  /// are, backslash as \\, newline, return and tab as \n, \r, \t, any other byte as \xHH.
  std::string EscapedToken(TokenId id) const;
  /// kUnused if outside the vocabulary.
  TokenType Type(TokenId id) const;
  /// True for control and unknown tokens: those that decoding hides.
  bool IsControl(TokenId id) const;
  /// The token whose TokenBytes are `bytes`, or kNoToken. Of a byte token and a normal token with
  /// the same bytes, the normal one.
  TokenId FindToken(std::string_view bytes) const;

  /// The tokens whose TokenBytes contain one of `texts`, ascending: what Dry::breakers wants. Cost:
  /// one look at each byte of the vocabulary. Errors: kInvalidArgument names a text that is empty
  /// or stands in no token.
  Result<std::vector<TokenId>> TokensContaining(std::span<const std::string> texts) const;

  /// Ids of the tokens with a fixed meaning; kNoToken if the model has none.
  TokenId bos_id() const;
  TokenId eos_id() const;
  TokenId eot_id() const;  ///< end of a turn in a conversation
  TokenId sep_id() const;  ///< between and behind the texts of an embedding or reranking model
  TokenId unk_id() const;
  TokenId pad_id() const;
  /// As the file says, else by the names that such tokens are known to have ("<|fim_prefix|>");
  /// none unless all three are there.
  std::optional<FillTokens> fill_tokens() const;
  /// The tokens of a text with a gap, BOS in front if the model adds one; files stand in front, as
  /// llama.cpp writes them: behind the token for files and their names, or between lines of text
  /// where the model has no such token. What the texts spell is text. Errors: kUnsupported if the
  /// model has no fill_tokens; as Encode.
  Result<std::vector<TokenId>> EncodeGap(const GapText& gap, StopCheck stop = {}) const;

  /// Whether BoundaryTokens::kAsModel adds BOS or EOS. (A WordPiece model also adds sep_id().)
  bool add_bos() const;
  bool add_eos() const;

  /// True if generation stops at `id`: EOS, end of turn, and the tokens known by their name to end
  /// a message ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", ...).
  bool IsEndOfGeneration(TokenId id) const;
  /// All such tokens, ascending.
  std::span<const TokenId> end_of_generation_ids() const;

  /// "llama", "gpt2", "gemma4", "t5" or "bert", as in the key tokenizer.ggml.model.
  std::string_view model_name() const;

 private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

/// Turns generated tokens into text piece by piece, without ever cutting a UTF-8 sequence.
///
/// The concatenation of what Push returned, and Flush at the end, is Tokenizer::Decode of all
/// tokens pushed. Each string is valid UTF-8, but for the marks that were asked for; an incomplete
/// sequence at the end is held back (at most 3 bytes) until later tokens complete it or show it to
/// be ill-formed. One object per sequence; not thread-safe. The tokenizer must outlive it and stay
/// where it is.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {});

  /// The text that `id` adds. May be empty: control tokens, incomplete characters.
  std::string Push(TokenId id);
  /// What was held back, as U+FFFD, and start anew as at construction.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  bool at_start_;
  std::string pending_;  // an incomplete UTF-8 sequence: 0 to 3 bytes
};

/// Finds stop strings in streamed text, also across the borders of its pieces.
///
/// Passes text through until the first stop string. Text that may be the beginning of a stop string
/// is held back until more text decides it, so no part of a stop string is ever shown. The first
/// stop string is the one that ends first; of several that end at the same place, the longest. What
/// was passed through before it is exactly the text up to where it begins, and that does not depend
/// on how the text was cut into pieces. Time is linear in the text, whatever the stop strings. One
/// object per stream; not thread-safe.
class StopMatcher {
 public:
  /// What a piece of text brought.
  struct Output {
    std::string text;     ///< text now certain not to be part of a stop string
    int stop_index = -1;  ///< index of the stop string that was found, or -1
  };

  /// At most this many stop strings of this length: far above any use, far below a burden.
  static constexpr size_t kMaxStops = 256;
  static constexpr size_t kMaxStopBytes = 4096;

  /// No stop strings at all is legal: everything passes at once. Errors: kInvalidArgument for a
  /// stop string that is empty, not UTF-8 or longer than kMaxStopBytes, or more than kMaxStops.
  static Result<StopMatcher> Create(std::span<const std::string> stops);

  ~StopMatcher();
  StopMatcher(StopMatcher&& other) noexcept;
  StopMatcher& operator=(StopMatcher&& other) noexcept;
  StopMatcher(const StopMatcher&) = delete;
  StopMatcher& operator=(const StopMatcher&) = delete;

  /// Takes the next piece of text. After a stop string was found nothing passes any more, and
  /// stop_index stays as it was, until Reset.
  Output Push(std::string_view piece);
  /// The text ends here without a stop string: returns what was held back.
  std::string Flush();
  /// Forgets all text, for the next stream.
  void Reset();

 private:
  explicit StopMatcher(std::unique_ptr<const text::ByteAutomaton> automaton);

  std::unique_ptr<const text::ByteAutomaton> automaton_;
  int32_t state_ = 0;    // of the automaton: the longest suffix that begins a stop string
  std::string held_;     // that suffix: not yet passed on
  int stop_index_ = -1;  // what was found, or -1
};

}  // namespace skald
