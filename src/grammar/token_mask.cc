#include "grammar/token_mask.h"

#include <string_view>
#include <utility>
#include <vector>

#include "grammar/limits.h"

namespace skald::grammar {

namespace {

void Allow(std::span<const TokenId> tokens, std::span<uint64_t> words) {
  for (const TokenId token : tokens) words[token >> 6] |= uint64_t{1} << (token & 63);
}

}  // namespace

bool AllowTokens(const Form& form, const TokenTrie& trie, const RowPointer& row,
                 std::span<uint64_t> words) {
  std::vector<RowPointer> rows = {row};  // [depth]
  int64_t steps = 0;
  for (uint32_t i = 0; i < trie.node_count();) {
    const TokenTrie::Node& node = trie.node(i);
    rows.resize(node.depth);
    const Row& before = *rows.back();
    const char byte = static_cast<char>(node.byte);
    Reading reading = ReadBytes(form, rows.back(), std::string_view(&byte, 1));
    steps +=
        1 + static_cast<int64_t>(before.items.size()) + (reading.taken ? reading.row->steps : 0);
    if (steps > kMaskSteps) return false;
    if (reading.taken == 0) {
      i = node.end;
    } else if (reading.row->too_complex) {
      // Unknown: whoever takes such a token is told.
      Allow(trie.TokensBelow(i), words);
      i = node.end;
    } else {
      Allow(trie.TokensAt(i), words);
      rows.push_back(std::move(reading.row));
      ++i;
    }
  }
  return true;
}

}  // namespace skald::grammar
