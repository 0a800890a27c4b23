#include "load/model_chat_template.h"

#include <string>

namespace skald::load {

namespace {

// OpenAI's ChatML, as the models of many families write it.
constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

constexpr std::string_view kPlain =
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% else %}{{ message.role|capitalize }}: {{ message.content }}\n{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}";

bool HasControlToken(const Tokenizer& tokenizer, std::string_view name) {
  return tokenizer.IsControl(tokenizer.FindToken(name));
}

}  // namespace

Result<ChatTemplate> ChatTemplateOf(std::string_view source, const Tokenizer& tokenizer) {
  if (source.empty()) {
    const bool chat_ml =
        HasControlToken(tokenizer, "<|im_start|>") && HasControlToken(tokenizer, "<|im_end|>");
    source = chat_ml ? kChatMl : kPlain;
  }
  return ChatTemplate::Create(source,
                              {.bos = std::string(tokenizer.TokenBytes(tokenizer.bos_id())),
                               .eos = std::string(tokenizer.TokenBytes(tokenizer.eos_id()))});
}

}  // namespace skald::load
