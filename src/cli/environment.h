/// Environment: everything the command takes from its surroundings, read once at the start.
///
/// The one place of skald that reads environment variables and asks what a descriptor is. All else
/// gets this struct, so a test can make any surroundings up.
#pragma once

#include <cstdint>
#include <string>

namespace skald::cli {

/// Which standard streams are terminals.
struct Terminals {
  bool input = false;
  bool output = false;
  bool error = false;
};

/// What the user's environment says about colour (no-color.org, bixense.com/clicolors).
enum class ColorWish : uint8_t { kNone, kNever, kAlways };

/// Where models come from (huggingface.co/docs/huggingface_hub/package_reference/
/// environment_variables), so that what another program has pulled is here, too.
struct HubEnvironment {
  std::string cache_dir =
      {};  ///< HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/...
  std::string endpoint = {};    ///< HF_ENDPOINT
  std::string token = {};       ///< HF_TOKEN
  std::string ca_file = {};     ///< REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE
  std::string token_file = {};  ///< HF_TOKEN_PATH, HF_HOME/token; need not exist
  bool is_offline = false;      ///< HF_HUB_OFFLINE
};

/// Where other programs keep models. The folders need not exist.
struct OtherFolders {
  std::string ollama = {};     ///< OLLAMA_MODELS, ~/.ollama/models
  std::string llama_cpp = {};  ///< LLAMA_CACHE, ~/.cache/llama.cpp
  std::string lm_studio = {};  ///< ~/.lmstudio/models
};

/// See above. Strings are empty where a variable is unset.
struct Environment {
  std::string executable_dir;  ///< of the running program, symbolic links resolved; may be empty
  std::string home;            ///< HOME
  std::string data_home;       ///< XDG_DATA_HOME
  std::string models;          ///< SKALD_MODELS: directories separated by colons
  HubEnvironment hub;
  OtherFolders others;
  ColorWish color = ColorWish::kNone;
  bool has_escapes = true;  ///< TERM is something and not "dumb": a terminal obeys ECMA-48
  Terminals terminals;
};

/// Reads the surroundings of this process.
Environment ReadEnvironment();

/// Makes text UTF-8 for the C library, which the line editor and the widths of characters depend
/// on: by the user's locale if that is UTF-8, else by C.UTF-8, as in a container without a locale.
/// Only what a character is; numbers and messages stay as they are.
void UseUtf8Locale();

/// Makes sure that descriptors 0, 1 and 2 are open. Called first of all: if the shell closed one
/// (`>&-`), the next file opened would get its number and receive what is printed. A missing one is
/// opened so that using it fails, as it would have.
void ReserveStandardDescriptors();

/// Width of the terminal on stderr, else on stdout, in columns; 80 if that cannot be found out.
int TerminalColumns();

}  // namespace skald::cli
