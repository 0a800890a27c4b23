#include "cli/environment.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

namespace skald::cli {

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

ColorWish ColorFromVariables() {
  // An empty NO_COLOR counts as unset (no-color.org). It wins: who sets both most likely set
  // CLICOLOR_FORCE for a tool that is not this one.
  if (!Variable("NO_COLOR").empty()) return ColorWish::kNever;
  const std::string force = Variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return ColorWish::kAlways;
  if (Variable("TERM") == "dumb") return ColorWish::kNever;
  return ColorWish::kNone;
}

std::string ExecutableDirectory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.parent_path().string();
}

// The first of these variables that is set, with what stands behind it.
std::string FirstOf(std::initializer_list<std::pair<const char*, const char*>> variables) {
  for (const auto& [name, behind] : variables)
    if (const std::string value = Variable(name); !value.empty()) return value + behind;
  return {};
}

HubEnvironment HubFromVariables() {
  HubEnvironment hub;
  hub.cache_dir = FirstOf({{"HF_HUB_CACHE", ""},
                           {"HUGGINGFACE_HUB_CACHE", ""},
                           {"HF_HOME", "/hub"},
                           {"XDG_CACHE_HOME", "/huggingface/hub"},
                           {"HOME", "/.cache/huggingface/hub"}});
  hub.token_file = FirstOf({{"HF_TOKEN_PATH", ""},
                            {"HF_HOME", "/token"},
                            {"XDG_CACHE_HOME", "/huggingface/token"},
                            {"HOME", "/.cache/huggingface/token"}});
  hub.endpoint = Variable("HF_ENDPOINT");
  hub.token = FirstOf({{"HF_TOKEN", ""}, {"HUGGING_FACE_HUB_TOKEN", ""}});
  // The names that Hugging Face's own programs, curl and OpenSSL read.
  hub.ca_file =
      FirstOf({{"REQUESTS_CA_BUNDLE", ""}, {"CURL_CA_BUNDLE", ""}, {"SSL_CERT_FILE", ""}});
  const std::string offline = Variable("HF_HUB_OFFLINE");
  hub.is_offline = offline == "1" || offline == "true" || offline == "TRUE" || offline == "yes" ||
                   offline == "YES" || offline == "on" || offline == "ON";
  return hub;
}

OtherFolders OthersFromVariables() {
  return {
      .ollama = FirstOf({{"OLLAMA_MODELS", ""}, {"HOME", "/.ollama/models"}}),
      .llama_cpp = FirstOf(
          {{"LLAMA_CACHE", ""}, {"XDG_CACHE_HOME", "/llama.cpp"}, {"HOME", "/.cache/llama.cpp"}}),
      .lm_studio = FirstOf({{"HOME", "/.lmstudio/models"}})};
}

}  // namespace

Environment ReadEnvironment() {
  Environment environment;
  environment.executable_dir = ExecutableDirectory();
  environment.home = Variable("HOME");
  environment.data_home = Variable("XDG_DATA_HOME");
  environment.models = Variable("SKALD_MODELS");
  environment.hub = HubFromVariables();
  environment.others = OthersFromVariables();
  environment.color = ColorFromVariables();
  const std::string terminal = Variable("TERM");
  environment.has_escapes = !terminal.empty() && terminal != "dumb";
  environment.terminals = {isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
                           isatty(STDERR_FILENO) == 1};
  return environment;
}

void UseUtf8Locale() {
  const auto is_utf8 = [] { return std::string_view(nl_langinfo(CODESET)) == "UTF-8"; };
  if (setlocale(LC_CTYPE, "") != nullptr && is_utf8()) return;
  for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"})
    if (setlocale(LC_CTYPE, name) != nullptr && is_utf8()) return;
}

void ReserveStandardDescriptors() {
  // open returns the lowest free number, so this stops as soon as 0, 1 and 2 are taken. Write-only
  // for 0 and read-only for 1 and 2: use fails with EBADF instead of vanishing.
  while (true) {
    const bool input_is_missing = fcntl(STDIN_FILENO, F_GETFD) == -1;
    const int descriptor = open("/dev/null", input_is_missing ? O_WRONLY : O_RDONLY);
    if (descriptor < 0) return;
    if (descriptor > STDERR_FILENO) {
      close(descriptor);
      return;
    }
  }
}

int TerminalColumns() {
  for (const int descriptor : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

}  // namespace skald::cli
