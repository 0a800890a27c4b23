/// Upper and lower case of characters.
#pragma once

namespace skald::chat {

/// One to one, for Latin, Greek, Cyrillic and Armenian letters; others stay. Python also turns one
/// letter into several (the German sharp s into SS): only that letter is done so, by the callers.
char32_t ToUpper(char32_t c);
char32_t ToLower(char32_t c);

}  // namespace skald::chat
